"""A v1 taskset whose scoring does not end for one task."""

import asyncio
import time

import verifiers.v1 as vf
from verifiers.v1.harnesses.null import NullHarness


class SlowData(vf.TaskData):
    answer: str
    how: str = ""


class SlowTask(vf.Task[SlowData, vf.State]):
    @vf.reward
    async def correct(self, trace: vf.Trace) -> float:
        if self.data.how == "await":
            await asyncio.sleep(600)
        if self.data.how == "block":
            time.sleep(600)  # noqa: ASYNC251
        return float(self.data.answer in trace.last_reply)


class SlowConfig(vf.TasksetConfig):
    how: str = "await"
    own: float | None = None


class SlowTaskset(vf.Taskset[SlowTask, SlowConfig]):
    def load(self):
        for n in range(3):
            how = self.config.how if n == 1 else ""
            timeout = vf.TaskTimeout(scoring=self.config.own)
            data = SlowData(
                idx=n, prompt=f"say word{n}", answer=f"word{n}", how=how, timeout=timeout
            )
            yield SlowTask(data, self.config.task)


__all__ = ["NullHarness", "SlowTaskset"]
