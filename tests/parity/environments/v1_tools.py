"""A v1 taskset with a tool server."""

import verifiers.v1 as vf


class SumData(vf.TaskData):
    answer: str


class SumTools(vf.Toolset[vf.ToolsetConfig]):
    @vf.tool
    def add(self, a: int, b: int) -> str:
        """Add two numbers."""
        return str(a + b)


class SumTaskConfig(vf.TaskConfig):
    tools: vf.ToolsetConfig = vf.ToolsetConfig()


class SumTask(vf.Task[SumData, vf.State, SumTaskConfig]):
    @classmethod
    def toolsets(cls, config: SumTaskConfig) -> list[vf.Toolset]:
        return [SumTools(config.tools)]

    @vf.reward(weight=1.0)
    async def right(self, trace: vf.Trace) -> float:
        return float(self.data.answer in trace.last_reply)

    @vf.metric
    async def turns(self, trace: vf.Trace) -> float:
        return float(trace.num_turns)


class SumConfig(vf.TasksetConfig):
    task: SumTaskConfig = SumTaskConfig()


class SumTaskset(vf.Taskset[SumTask, SumConfig]):
    def load(self):
        for n in range(4):
            data = SumData(idx=n, prompt=f"add {n} and 3", answer=str(n + 3))
            yield SumTask(data, self.config.task)


__all__ = ["SumTaskset"]

if __name__ == "__main__":
    SumTools.run()
