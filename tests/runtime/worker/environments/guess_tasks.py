"""A v1 taskset whose environment plays the user for three turns."""

import verifiers.v1 as vf
from verifiers.v1.harnesses.null import NullHarness


class GuessTask(vf.Task[vf.TaskData, vf.State]):
    @vf.reward(weight=1.0)
    async def turns(self, trace: vf.Trace) -> float:
        return float(trace.num_turns)


class GuessTaskset(vf.Taskset[GuessTask, vf.TasksetConfig]):
    def load(self):
        yield GuessTask(vf.TaskData(idx=0, system_prompt="be brief"), self.config.task)


class GuessEnv(vf.SingleAgentEnv):
    async def run(self, task, agents):
        async with agents.agent.interaction(task) as talk:
            for turn in range(3):
                await talk.turn(f"guess {turn}")


__all__ = ["GuessEnv", "GuessTaskset", "NullHarness"]
