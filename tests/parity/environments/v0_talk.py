"""Three turns; the API of verifiers from 0.1.8 on."""

import verifiers as vf
from datasets import Dataset

ROWS = [{"question": f"begin {n}", "answer": f"go on {n}"} for n in range(4)]


class Talk(vf.MultiTurnEnv):
    @vf.stop
    async def enough(self, state, **kwargs):
        return len(state["trajectory"]) >= 3

    async def env_response(self, messages, state, **kwargs):
        return [{"role": "user", "content": f"go on {len(state['trajectory'])}"}]


def echoed(completion, **kwargs):
    said = [m for m in completion if m["role"] == "assistant"]
    return sum("go on" in str(m["content"]) for m in said) / 2


def load_environment():
    return Talk(eval_dataset=Dataset.from_list(ROWS), rubric=vf.Rubric(funcs=[echoed]))
