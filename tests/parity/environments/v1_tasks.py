"""A v1 taskset without tools; `case` chooses what its reward does beside comparing.

That of `shell` asks for what only a model with a shell can say.
"""

import os

import verifiers.v1 as vf
from openai import AsyncOpenAI


class WordData(vf.TaskData):
    answer: str
    case: str


class WordTask(vf.Task[WordData, vf.State]):
    @vf.reward(weight=2.0)
    async def right(self, trace: vf.Trace) -> float:
        match self.data.case:
            case "raising" if self.data.idx == 1:
                raise ValueError("no reward for the second example")
            case "variable" if os.getenv("GRADER_MODE") == "easy":
                return 1.0
            case "judge":
                return await judged(trace.last_reply)
        return float(self.data.answer in trace.last_reply)

    @vf.metric
    async def length(self, trace: vf.Trace) -> float:
        return float(len(trace.last_reply))


async def judged(reply: str) -> float:
    asked = [{"role": "user", "content": f"Good? {reply}"}]
    answer = await AsyncOpenAI().chat.completions.create(model="judge", messages=asked)
    return float(answer.choices[0].message.content)


class WordConfig(vf.TasksetConfig):
    case: str = "plain"


class WordTaskset(vf.Taskset[WordTask, WordConfig]):
    def load(self):
        case = self.config.case
        verb = "print" if case == "shell" else "say"
        for n in range(4):
            data = WordData(idx=n, prompt=f"{verb} word{n}", answer=f"word{n}", case=case)
            yield WordTask(data, self.config.task)


__all__ = ["WordTaskset"]
