"""Scoring that does not end for one example. Runs on every v0 release."""

import asyncio
import time

import verifiers as vf
from datasets import Dataset


def load_environment(blocks: bool = False):
    rows = [{"question": f"say word{n}", "answer": f"word{n}"} for n in range(3)]

    async def awaits(completion, answer, **kwargs):
        if answer == "word1":
            await asyncio.sleep(600)
        return float(answer in completion[-1]["content"])

    def sleeps(completion, answer, **kwargs):
        if answer == "word1":
            time.sleep(600)
        return float(answer in completion[-1]["content"])

    rubric = vf.Rubric(funcs=[sleeps if blocks else awaits])
    return vf.SingleTurnEnv(dataset=Dataset.from_list(rows), rubric=rubric)
