"""A v1 taskset whose reward is what the model of a JudgeConfig says."""

import verifiers.v1 as vf


class Verdict(vf.Judge[str]):
    prompt = "Is it {response}?"


class JudgedConfig(vf.TaskConfig):
    judge: vf.JudgeConfig = vf.JudgeConfig(model="judge")


class JudgedTask(vf.Task[vf.TaskData, vf.State, JudgedConfig]):
    @vf.reward(weight=1.0)
    async def liked(self, trace: vf.Trace) -> float:
        said = await Verdict(self.config.judge).evaluate(trace=trace, response=trace.last_reply)
        return float("yes" in said.text)


class JudgedTasksetConfig(vf.TasksetConfig):
    task: JudgedConfig = JudgedConfig()


class JudgedTaskset(vf.Taskset[JudgedTask, JudgedTasksetConfig]):
    def load(self):
        yield JudgedTask(vf.TaskData(idx=0, prompt="say yes"), self.config.task)


__all__ = ["JudgedTaskset"]
