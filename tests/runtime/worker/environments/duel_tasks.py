"""A v1 taskset that two agents play, one after the other."""

import verifiers.v1 as vf
from verifiers.v1.harnesses.null import NullHarness


class DuelConfig(vf.EnvConfig):
    first: vf.AgentConfig = vf.AgentConfig()
    second_one: vf.AgentConfig = vf.AgentConfig()


class DuelTaskset(vf.Taskset[vf.Task, vf.TasksetConfig]):
    def load(self):
        for idx in range(2):
            yield vf.Task(vf.TaskData(idx=idx, prompt=f"say {idx}"), self.config.task)


class DuelEnv(vf.Env[DuelConfig]):
    async def run(self, task, agents):
        await agents.first.run(task)
        await agents.second_one.run(task)


__all__ = ["DuelEnv", "DuelTaskset", "NullHarness"]
