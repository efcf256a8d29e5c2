"""A v1 environment of two agents that play against each other: what one wins, the other loses."""

import verifiers.v1 as vf


class DuelData(vf.TaskData):
    answer: str


class DuelTask(vf.Task[DuelData, vf.State]):
    @vf.metric
    async def length(self, trace: vf.Trace) -> float:
        return float(len(trace.last_reply))


class DuelTaskset(vf.Taskset[DuelTask, vf.TasksetConfig]):
    def load(self):
        for n in range(4):
            yield DuelTask(
                DuelData(idx=n, prompt=f"say word{n}", answer=f"word{n}"), self.config.task
            )


class DuelConfig(vf.EnvConfig):
    first: vf.AgentConfig = vf.AgentConfig(harness={"id": "null"})
    second: vf.AgentConfig = vf.AgentConfig(harness={"id": "null"})


class DuelEnv(vf.Env[DuelConfig]):
    async def run(self, task, agents):
        await agents.first.run(task)
        await agents.second.run(task)

    async def finalize(self, task, episode):
        first, second = (
            next(each for each in episode.traces if each.agent.name == name)
            for name in ("first", "second")
        )
        lead = float(len(first.last_reply) - len(second.last_reply))
        first.record_reward("lead", lead)
        second.record_reward("lead", -lead)


__all__ = ["DuelEnv", "DuelTaskset"]
