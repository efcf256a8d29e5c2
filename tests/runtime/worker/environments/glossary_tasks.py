"""A v1 taskset with a tool server, which verifiers starts as a process in a session of its own."""

import os
from pathlib import Path

import verifiers.v1 as vf
from verifiers.v1.harnesses.null import NullHarness

# The server imports this module by its name.
os.environ["PYTHONPATH"] = str(Path(__file__).parent)


class GlossaryTools(vf.Toolset[vf.ToolsetConfig]):
    TOOL_PREFIX = "glossary"

    @vf.tool
    def look_up(self, word: str) -> str:
        """What `word` means."""
        return f"{word} means wibble"


class GlossaryTask(vf.Task[vf.TaskData, vf.State]):
    @classmethod
    def toolsets(cls, config):
        return [GlossaryTools(vf.ToolsetConfig())]

    @vf.reward
    async def knows(self, trace: vf.Trace) -> float:
        return float("wibble" in trace.last_reply)


class GlossaryTaskset(vf.Taskset[GlossaryTask, vf.TasksetConfig]):
    def load(self):
        yield GlossaryTask(vf.TaskData(idx=0, prompt="what is a flurb?"), self.config.task)


__all__ = ["GlossaryTaskset", "NullHarness"]

if __name__ == "__main__":
    GlossaryTools.run()
