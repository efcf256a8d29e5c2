"""verifiers' own docker runtime: one container and COUNT commands in it; milliseconds of each.

Run in a venv with verifiers 0.4, whose `docker` is on PATH. Prints one JSON object.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable

from verifiers.v1.runtimes.docker import DockerConfig, DockerRuntime


async def _time_of(work: Awaitable[object]) -> float:
    began = time.perf_counter()
    await work
    return (time.perf_counter() - began) * 1000


async def main() -> None:
    """Start it, run commands, and remove it."""
    runtime = DockerRuntime(DockerConfig(workdir="/", memory=0.5))
    try:
        start = await _time_of(runtime.start())
        commands = [await _time_of(runtime.run(["true"], {})) for _ in range(int(sys.argv[1]))]
    finally:
        runtime.cleanup()
    json.dump({"start": start, "commands": commands}, sys.stdout)


asyncio.run(main())
