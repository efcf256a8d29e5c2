"""Rewards by rank within the group of an example; verifiers from 0.1.8 on."""

import verifiers as vf
from datasets import Dataset


def longest(completions, **kwargs) -> list[float]:
    lengths = [len(str(completion[-1]["content"])) for completion in completions]
    return [float(length == max(lengths)) for length in lengths]


def load_environment():
    rows = [{"question": f"say word{n}", "answer": ""} for n in range(4)]
    return vf.SingleTurnEnv(eval_dataset=Dataset.from_list(rows), rubric=vf.Rubric(funcs=[longest]))
