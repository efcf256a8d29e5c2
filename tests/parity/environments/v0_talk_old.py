"""Three turns, and an error of its own in the state; the API of verifiers up to 0.1.7."""

import verifiers as vf
from datasets import Dataset

ROWS = [{"question": f"begin {n}", "answer": f"go on {n}"} for n in range(4)]


class Talk(vf.MultiTurnEnv):
    notes_error = False

    async def is_completed(self, messages, state, **kwargs):
        return state["turn"] >= 3

    async def env_response(self, messages, state, **kwargs):
        if self.notes_error and state["answer"] == "go on 1":
            state["error"] = {"message": "the move was not a word"}
        return [{"role": "user", "content": f"go on {state['turn']}"}], state


def echoed(completion, **kwargs):
    return sum("go on" in str(m["content"]) for m in completion if m["role"] == "assistant") / 2


def load_environment(case: str = "talk"):
    talk = Talk(eval_dataset=Dataset.from_list(ROWS), rubric=vf.Rubric(funcs=[echoed]))
    talk.notes_error = case == "own error"
    return talk
