"""A tool that adds; runs on all releases of v0."""

import verifiers as vf
from datasets import Dataset


def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: the first number
        b: the second number
    """
    return a + b


def right(completion, answer, **kwargs):
    return float(answer in completion[-1]["content"])


def turns(completion, **kwargs):
    return float(len(completion))


def load_environment():
    rows = [{"question": f"add {n} and 3", "answer": str(n + 3)} for n in range(4)]
    rubric = vf.Rubric(funcs=[right, turns], weights=[1.0, 0.1])
    dataset = Dataset.from_list(rows)
    return vf.ToolEnv(eval_dataset=dataset, tools=[add], max_turns=4, rubric=rubric)
