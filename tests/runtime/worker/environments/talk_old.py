"""Three turns, in the API of verifiers up to 0.1.7."""

import verifiers as vf
from datasets import Dataset


class Talk(vf.MultiTurnEnv):
    async def is_completed(self, messages, state, **kwargs):
        return state["turn"] >= 3

    async def env_response(self, messages, state, **kwargs):
        return [{"role": "user", "content": f"go on {state['turn']}"}], state


def load_environment():
    rows = [{"question": "begin", "answer": "begin"}] * 2
    rubric = vf.Rubric(funcs=[lambda completion, **kwargs: float(len(completion))])
    return Talk(dataset=Dataset.from_list(rows), rubric=rubric)
