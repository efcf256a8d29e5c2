"""A single turn: say the word. Runs on every v0 release."""

import verifiers as vf
from datasets import Dataset


def load_environment(count: int = 4, evaluated: int = 0):
    print("words are loaded")
    rows = [
        {"question": f"say word{n}", "answer": f"word{n}", "info": {"n": n}} for n in range(count)
    ]

    def correct(completion, answer, **kwargs):
        return float(answer in completion[-1]["content"])

    def length(completion, **kwargs):
        return float(len(completion[-1]["content"]))

    rubric = vf.Rubric(funcs=[correct, length], weights=[1.0, 0.0])
    data = Dataset.from_list(rows)
    last = {"eval_dataset": Dataset.from_list(rows[-evaluated:])} if evaluated else {}
    return vf.SingleTurnEnv(dataset=data, rubric=rubric, **last)
