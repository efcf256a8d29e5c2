"""A v1 taskset that names no harness: a model that may run a command knows the answer."""

import verifiers.v1 as vf


class ShellData(vf.TaskData):
    answer: str


class ShellTask(vf.Task[ShellData, vf.State]):
    @vf.reward
    async def correct(self, trace: vf.Trace) -> float:
        return float(self.data.answer in trace.last_reply)


class ShellTaskset(vf.Taskset[ShellTask, vf.TasksetConfig]):
    def load(self):
        for n in range(2):
            data = ShellData(idx=n, prompt=f"echo $(({n} + 40))", answer=f"is {n + 40}")
            yield ShellTask(data, self.config.task)


__all__ = ["ShellTaskset"]
