"""Sums, and the scoring of numbers that other environments of this owner share."""

import re
from typing import Any

import verifiers as vf
from datasets import Dataset

SYSTEM_PROMPT = "Reply with the number and nothing else."


def same_number(completion: Any, answer: str) -> float:
    """1.0 if the last number of the reply is the answer, whatever its form: `1,200` is `1200.0`."""
    numbers = re.findall(r"-?\d[\d,]*\.?\d*", str(completion[-1]["content"]))
    return float(bool(numbers) and float(numbers[-1].replace(",", "")) == float(answer))


def make_environment(rows: list[dict[str, str]]) -> vf.Environment:
    """An environment whose answers are numbers."""
    return vf.SingleTurnEnv(
        eval_dataset=Dataset.from_list(rows),
        system_prompt=SYSTEM_PROMPT,
        rubric=vf.Rubric(funcs=[same_number]),
    )


def load_environment(num_examples: int = 10) -> vf.Environment:
    """The environment: `num_examples` sums."""
    pairs = [(17 * n + 3, 29 * n + 8) for n in range(num_examples)]
    return make_environment(
        [{"question": f"What is {a} + {b}?", "answer": str(a + b)} for a, b in pairs]
    )
