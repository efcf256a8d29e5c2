"""Commands in the pods of the scripted cluster: processes of this machine."""

import asyncio
import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

from aiohttp import WSMsgType, web


def start_command(
    argv: list[str], tmp: Path, variables: dict[str, str], *, stdin: bool
) -> "subprocess.Popen[bytes]":
    """Start a command as root of a user namespace, in a session of its own, with `tmp` as /tmp."""
    # Not bubblewrap: killed as it starts, it leaves the child that waits for its user's numbers.
    inside = 'mount --bind "$0" /tmp && cd /tmp && exec "$@"'
    return subprocess.Popen(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", inside, str(tmp), *argv],
        stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=variables,
        bufsize=0,
        start_new_session=True,
    )


def kill_command(process: "subprocess.Popen[bytes]") -> None:
    """End a command, and what it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


async def follow_command(
    socket: web.WebSocketResponse, process: "subprocess.Popen[bytes]", *, waits_for_output: bool
) -> dict[str, Any]:
    """Pass a command's pipes over the channels of `exec`; its `Status` once it has ended."""
    assert process.stdout is not None
    assert process.stderr is not None
    feeding = asyncio.create_task(_feed(socket, process))
    pumps = [
        asyncio.create_task(_pump(socket, 1, process.stdout.fileno())),
        asyncio.create_task(_pump(socket, 2, process.stderr.fileno())),
    ]
    try:
        while process.poll() is None:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        await asyncio.wait(pumps, timeout=None if waits_for_output else 0.2)
    finally:
        for task in (*pumps, feeding):
            task.cancel()
        await asyncio.wait({*pumps, feeding})
    code = process.returncode
    if code == 0:
        return {"status": "Success"}
    cause = {"reason": "ExitCode", "message": str(128 - code if code < 0 else code)}
    return {"status": "Failure", "details": {"causes": [cause]}}


async def _feed(socket: web.WebSocketResponse, process: "subprocess.Popen[bytes]") -> None:
    async for message in socket:
        if message.type is not WSMsgType.BINARY or process.stdin is None:
            continue
        with suppress(OSError, ValueError):
            if message.data == b"\xff\x00":
                process.stdin.close()
            elif message.data[:1] == b"\x00":
                await asyncio.to_thread(process.stdin.write, message.data[1:])


async def _pump(socket: web.WebSocketResponse, channel: int, reader: int) -> None:
    os.set_blocking(reader, False)
    ready, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.add_reader(reader, ready.set)
    try:
        while True:
            await ready.wait()
            ready.clear()
            with suppress(BlockingIOError, ConnectionError):
                chunk = os.read(reader, 16_384)
                if not chunk:
                    return
                await socket.send_bytes(bytes([channel]) + chunk)
    finally:
        loop.remove_reader(reader)
