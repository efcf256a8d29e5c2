"""A v1 taskset that raises, for task 1, what ends a program; and metrics with names of fields."""

import asyncio

import verifiers.v1 as vf
from verifiers.v1.harnesses.null import NullHarness


class Finished(BaseException):
    pass


ERRORS = {
    "SystemExit": SystemExit(3),
    "KeyboardInterrupt": KeyboardInterrupt(),
    "CancelledError": asyncio.CancelledError(),
    "GeneratorExit": GeneratorExit(),
    "Finished": Finished("enough"),
}


class LeavingData(vf.TaskData):
    answer: str
    place: str
    error: str


class LeavingTask(vf.Task[LeavingData, vf.State]):
    def leave(self, place: str) -> None:
        if self.data.place == place and self.data.idx == 1:
            if self.data.error == "exec":
                exec("import sys; sys.exit(4)")
            raise ERRORS[self.data.error]

    async def setup(self, trace: vf.Trace, runtime: vf.Runtime) -> None:
        self.leave("setup")

    @vf.reward
    async def correct(self, trace: vf.Trace) -> float:
        self.leave("reward")
        return float(self.data.answer in trace.last_reply)

    @vf.metric
    async def reward(self) -> float:
        return 0.25

    @vf.metric
    async def completion(self) -> float:
        self.leave("metric")
        return 0.25

    @vf.metric
    async def example_id(self) -> float:
        return 0.25


class LeavingConfig(vf.TasksetConfig):
    place: str = ""
    error: str = ""


class LeavingTaskset(vf.Taskset[LeavingTask, LeavingConfig]):
    def load(self):
        for n in range(3):
            data = LeavingData(
                idx=n,
                prompt=f"say word{n}",
                answer=f"word{n}",
                place=self.config.place,
                error=self.config.error,
            )
            yield LeavingTask(data, self.config.task)


__all__ = ["LeavingTaskset", "NullHarness"]
