"""Rewards by rank within the group of an example; verifiers 0.1.8 and later."""

import verifiers as vf
from datasets import Dataset


def longest(completions, **kwargs) -> list[float]:
    lengths = [len(str(completion[-1]["content"])) for completion in completions]
    return [float(length == max(lengths)) for length in lengths]


def load_environment():
    rows = [{"question": f"say {n}", "answer": ""} for n in range(2)]
    return vf.SingleTurnEnv(dataset=Dataset.from_list(rows), rubric=vf.Rubric(funcs=[longest]))
