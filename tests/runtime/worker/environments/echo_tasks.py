"""A v1 taskset without tools."""

from typing import Literal

import verifiers.v1 as vf
from verifiers.v1.harnesses.null import NullHarness


class EchoData(vf.TaskData):
    answer: str
    trouble: str = ""


class EchoTask(vf.Task[EchoData, vf.State]):
    @vf.reward(weight=2.0)
    async def correct(self, trace: vf.Trace) -> float:
        print("a v1 environment prints")
        if self.data.trouble:
            raise ZeroDivisionError(self.data.trouble)
        return float(self.data.answer in trace.last_reply)

    @vf.metric
    async def length(self, trace: vf.Trace) -> float:
        return float(len(trace.last_reply))


class EchoConfig(vf.TasksetConfig):
    count: int = 4
    trouble: str = ""
    dataset_split: Literal["train", "test"] = "train"


class EchoTaskset(vf.Taskset[EchoTask, EchoConfig]):
    def load(self):
        for n in range(self.config.count):
            trouble = self.config.trouble if n == 1 else ""
            data = EchoData(idx=n, prompt=f"say word{n}", answer=f"word{n}", trouble=trouble)
            yield EchoTask(data, self.config.task)


def oracle(messages, *, answer, info):
    return f"{answer} of task {info['idx']}"


__all__ = ["EchoTaskset", "NullHarness"]
