"""A v1 taskset that never ends."""

import itertools

import verifiers.v1 as vf
from verifiers.v1.harnesses.null import NullHarness


class EndlessTaskset(vf.Taskset[vf.Task, vf.TasksetConfig]):
    INFINITE = True

    def load(self):
        for n in itertools.count():
            yield vf.Task(vf.TaskData(idx=n, prompt=f"say {n}"), self.config.task)


__all__ = ["EndlessTaskset", "NullHarness"]
