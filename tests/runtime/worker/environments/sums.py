"""A tool to call. Runs on every v0 release."""

import verifiers as vf
from datasets import Dataset


def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: the first number
        b: the second number
    """
    return a + b


def load_environment():
    rows = [{"question": "2 + 3?", "answer": "5"}]

    def correct(completion, answer, **kwargs):
        return float(answer in completion[-1]["content"])

    dataset = Dataset.from_list(rows)
    return vf.ToolEnv(dataset=dataset, tools=[add], max_turns=4, rubric=vf.Rubric(funcs=[correct]))
