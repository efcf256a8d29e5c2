"""The taskset: `num_examples` words."""

import verifiers.v1 as vf


class BenchData(vf.TaskData):
    """One word; `answer` is what the model has to say."""

    answer: str


class BenchTask(vf.Task[BenchData]):
    """Exact match of the last reply."""

    @vf.reward(weight=1.0)
    async def exact(self, trace: vf.Trace) -> float:
        return 1.0 if trace.last_reply == self.data.answer else 0.0


class BenchConfig(vf.TasksetConfig):
    """What `-a` may set."""

    num_examples: int = 1000
    """How many words there are."""


class BenchTaskset(vf.Taskset[BenchTask, BenchConfig]):
    """Words by number."""

    def load(self) -> list[BenchTask]:
        return [
            BenchTask(BenchData(prompt=f"Say back: word{n}", answer=f"word{n}"), self.config.task)
            for n in range(self.config.num_examples)
        ]
