"""Three turns, in the API of verifiers from 0.1.8 on."""

import verifiers as vf
from datasets import Dataset


class Talk(vf.MultiTurnEnv):
    @vf.stop
    async def enough(self, state, **kwargs):
        return len(state["trajectory"]) >= 3

    async def setup_state(self, state, **kwargs):
        return state

    async def env_response(self, messages, state, **kwargs):
        return [{"role": "user", "content": f"go on {len(state['trajectory'])}"}]


def messages(completion, **kwargs):
    return float(len(completion))


def load_environment():
    rows = [{"question": "begin", "answer": "begin"}] * 2
    return Talk(dataset=Dataset.from_list(rows), rubric=vf.Rubric(funcs=[messages]))
