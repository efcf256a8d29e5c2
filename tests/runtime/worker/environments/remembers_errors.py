"""Old environments that keep something of their own in `state["error"]`: the dict of a bad guess.

In the API of verifiers up to 0.1.7, and in that of 0.1.8.
"""

import verifiers as vf
from datasets import Dataset


class Remembers(vf.MultiTurnEnv):
    async def setup_state(self, state, **kwargs):
        state["error"] = {"guess": "lower"}
        return state

    if hasattr(vf, "stop"):

        @vf.stop
        async def said_it(self, state, **kwargs):
            return len(state["trajectory"]) >= 1

        async def env_response(self, messages, state, **kwargs):
            return []
    else:

        async def is_completed(self, messages, state, **kwargs):
            return state["turn"] >= 1

        async def env_response(self, messages, state, **kwargs):
            return [], state


def load_environment():
    rows = [{"question": "begin", "answer": "begin"}]
    rubric = vf.Rubric(funcs=[lambda completion, **kwargs: 1.0])
    return Remembers(dataset=Dataset.from_list(rows), rubric=rubric)
