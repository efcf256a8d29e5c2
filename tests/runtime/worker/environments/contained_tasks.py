"""A v1 taskset whose tasks need a container."""

import verifiers.v1 as vf
from verifiers.v1.harnesses.null import NullHarness


class ContainedTask(vf.Task[vf.TaskData, vf.State]):
    NEEDS_CONTAINER = True


class ContainedTaskset(vf.Taskset[ContainedTask, vf.TasksetConfig]):
    def load(self):
        yield ContainedTask(vf.TaskData(idx=0, prompt="go"), self.config.task)


__all__ = ["ContainedTaskset", "NullHarness"]
