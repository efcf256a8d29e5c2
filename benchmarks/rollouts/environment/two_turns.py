"""Two turns, at next to no cost, in the API of verifiers 0.1.10 to 0.3.1."""

import verifiers as vf
from datasets import Dataset


class TwoTurns(vf.MultiTurnEnv):
    @vf.stop
    async def enough(self, state, **kwargs):
        return len(state["trajectory"]) >= 2

    async def env_response(self, messages, state, **kwargs):
        return [{"role": "user", "content": "go on"}]


def letters(completion):
    return float(len(completion))


def load_environment():
    rows = Dataset.from_list([{"question": f"begin {n}", "answer": ""} for n in range(64)])
    return TwoTurns(dataset=rows, rubric=vf.Rubric(funcs=[letters]))
