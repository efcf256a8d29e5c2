"""The asynchronous client of a release of the official SDK, which environments use.

Run in a venv of its own. Prints one JSON object: what each did, by name.
"""

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from prime_sandboxes import AsyncSandboxClient, CreateSandboxRequest

# A VM, so that releases which know both ways of running a command take the newer one.
wish: dict[str, Any] = {"vm": True} if "vm" in CreateSandboxRequest.model_fields else {}
said: dict[str, Any] = {}


async def note(name: str, call: Any) -> None:
    """Keep `ok`, or the name of the exception."""
    try:
        await call
    except Exception as error:  # noqa: BLE001 - its name is what is compared
        said[name] = type(error).__name__
    else:
        said[name] = "ok"


async def read(stream: Any) -> str:
    """Everything that a process writes to one of its streams."""
    return b"".join([chunk async for chunk in stream]).decode()


async def hold(client: Any, box: str) -> None:
    """A process that is given input, and one that is ended."""
    process = await client.open_process(box, "read A; echo got $A; echo no >&2; exit 6")
    await process.write_stdin(b"it\n")
    streams = await asyncio.gather(read(process.stdout), read(process.stderr))
    said["process"] = [*streams, await process.wait()]
    for name in ("terminate", "kill"):
        process = await client.open_process(box, "echo begun; sleep 60")
        await anext(aiter(process.stdout))
        await getattr(process, name)()
        said[name] = await asyncio.wait_for(process.wait(), 20)
        await process.aclose()


async def work() -> None:
    """All that an environment does with it."""
    client: Any = AsyncSandboxClient()
    asked = CreateSandboxRequest(name="a", docker_image="python:3.11-slim", labels=["co"], **wish)
    box = (await client.create(asked)).id
    await client.wait_for_creation(box)
    await note("wait-for-many", client.bulk_wait_for_creation([box]))
    runs = [client.execute_command(box, f"echo {number}") for number in range(5)]
    said["commands"] = [done.stdout for done in await asyncio.gather(*runs)]
    await note("timeout", client.execute_command(box, "sleep 20", timeout=1))
    source = Path(tempfile.mkdtemp()) / "source"
    source.write_text("content", "utf-8")
    await note("upload", client.upload_file(box, "/tmp/a", str(source)))
    await note("download", client.download_file(box, "/tmp/a", str(source.with_name("back"))))
    said["same"] = source.with_name("back").read_text("utf-8") == "content"
    if hasattr(client, "read_file"):
        said["read"] = (await client.read_file(box, "/tmp/a")).content
    job = await client.start_background_job(box, "echo begun; exit 4")
    for _ in range(50):
        seen = await client.get_background_job(box, job)
        if seen.completed:
            break
        await asyncio.sleep(0.2)
    said["background"] = [seen.completed, seen.exit_code, seen.stdout]
    if hasattr(client, "open_process"):
        await hold(client, box)
    said["listed"] = (await client.list(labels=["co"])).total
    said["deleted"] = (await client.bulk_delete(labels=["co"])).succeeded == [box]
    await note("after-end", client.execute_command(box, "true"))
    await client.aclose()


asyncio.run(work())
json.dump(said, sys.stdout)
