"""Raises, for example 1, what ends a program or cancels a task: `error`, in the hook `place`."""

import asyncio

import verifiers as vf
from datasets import Dataset


class Finished(BaseException):
    pass


ERRORS = {
    "SystemExit": SystemExit(3),
    "KeyboardInterrupt": KeyboardInterrupt(),
    "CancelledError": asyncio.CancelledError(),
    "GeneratorExit": GeneratorExit(),
    "Finished": Finished("enough"),
}


def leave(error, answer):
    if answer == "word1":
        if error == "exec":
            exec("import sys; sys.exit(4)")
        raise ERRORS[error]


class LeavesInSetup(vf.SingleTurnEnv):
    error = ""

    async def setup_state(self, state, **kwargs):
        leave(self.error, state["answer"])
        return await super().setup_state(state, **kwargs)


class LeavesInTurn(vf.SingleTurnEnv):
    error = ""

    async def is_completed(self, state, **kwargs):
        leave(self.error, state["answer"])
        return await super().is_completed(state, **kwargs)


class LeavesInTeardown(vf.SingleTurnEnv):
    error = ""

    async def _teardown(self):
        leave(self.error, "word1")


def load_environment(place, error):
    if place == "load":
        raise ERRORS[error]

    def right(completion, answer, **kwargs):
        if place == "reward":
            leave(error, answer)
        return 1.0 if answer in completion[-1]["content"] else 0.0

    async def later(answer, **kwargs):
        if place == "async reward":
            leave(error, answer)
        if place == "callback":
            asyncio.get_running_loop().call_soon(leave, error, answer)
        return 0.5

    kind = {"setup": LeavesInSetup, "turn": LeavesInTurn, "teardown": LeavesInTeardown}.get(
        place, vf.SingleTurnEnv
    )
    rows = [{"question": f"say word{n}", "answer": f"word{n}"} for n in range(3)]
    environment = kind(
        dataset=Dataset.from_list(rows), rubric=vf.Rubric(funcs=[right, later], weights=[1.0, 0.0])
    )
    environment.error = error
    return environment
