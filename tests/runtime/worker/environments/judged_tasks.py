"""A v1 taskset with a judge on verifiers' default client, and a limit on its turns."""

import verifiers.v1 as vf
from verifiers.v1.clients.base import build_async_openai
from verifiers.v1.harnesses.null import NullHarness

JUDGE = build_async_openai(vf.EvalClientConfig())


class JudgedTask(vf.Task[vf.TaskData, vf.State]):
    @vf.reward(weight=1.0)
    async def liked(self, trace: vf.Trace) -> float:
        asked = [{"role": "user", "content": "1"}]
        answer = await JUDGE.chat.completions.create(model="judge", messages=asked)
        return float(answer.choices[0].message.content)


class JudgedTaskset(vf.Taskset[JudgedTask, vf.TasksetConfig]):
    def load(self):
        for n in range(2):
            yield JudgedTask(vf.TaskData(idx=n, prompt=f"say {n}"), self.config.task)


__all__ = ["JudgedTaskset", "NullHarness"]
