"""Functions of weight 0 that are named like fields of a row, beside the one that decides."""

import verifiers as vf
from datasets import Dataset


def right(completion, answer, **kwargs):
    return 1.0 if answer in completion[-1]["content"] else 0.0


def named(name):
    def function(**kwargs):
        return 0.25

    function.__name__ = name
    return function


def load_environment(names=()):
    rows = [{"question": f"say word{n}", "answer": f"word{n}"} for n in range(2)]
    functions = [right, *map(named, names)]
    weights = [1.0] + [0.0] * len(names)
    return vf.SingleTurnEnv(
        dataset=Dataset.from_list(rows), rubric=vf.Rubric(funcs=functions, weights=weights)
    )
