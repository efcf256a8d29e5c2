"""Say a word back; the reward is 1 for exactly that word."""

import verifiers as vf
from datasets import Dataset


def exact(completion, answer, **_):
    return 1.0 if completion[-1]["content"] == answer else 0.0


def load_environment(num_examples: int = 1000) -> vf.Environment:
    rows = [{"question": f"Say back: word{n}", "answer": f"word{n}"} for n in range(num_examples)]
    return vf.SingleTurnEnv(dataset=Dataset.from_list(rows), rubric=vf.Rubric(funcs=[exact]))
