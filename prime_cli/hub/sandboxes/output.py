"""The output of commands as streams."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from prime_cli.hub.sandboxes.provider import Readable, RunningCommand
from prime_cli.wire.command_sessions import STDERR, STDOUT

GRACE = 0.2
"""Seconds that pipes are read after the end: what it left in the background may hold them open."""

_KILL, _KILL_SECONDS = 9, 5.0
_CHUNK = 1 << 16
_WAITING = 16
"""Chunks that wait for a slow reader; the command waits then, and no memory is filled."""

_Item = tuple[int, bytes] | None


async def kill(command: RunningCommand) -> None:
    """Kill a command, and wait until it has ended."""
    await command.signal(_KILL)
    with suppress(TimeoutError):
        async with asyncio.timeout(_KILL_SECONDS):
            await command.wait()


async def merged(command: RunningCommand) -> AsyncIterator[tuple[int, bytes]]:
    """(STDOUT or STDERR, bytes) until the command is done and its pipes are read."""
    queue: asyncio.Queue[_Item] = asyncio.Queue(_WAITING)

    async def pump(number: int, reader: Readable) -> None:
        while chunk := await reader.read(_CHUNK):
            await queue.put((number, chunk))

    pumps = [
        asyncio.create_task(pump(STDOUT, command.stdout)),
        asyncio.create_task(pump(STDERR, command.stderr)),
    ]

    async def close() -> None:
        await command.wait()
        left = set(pumps)
        while left:
            done, left = await asyncio.wait(left, timeout=GRACE)
            # A full queue means that the reader is slow, not that nothing comes.
            if not done and queue.empty():
                break
        await queue.put(None)

    closing = asyncio.create_task(close())
    try:
        while (item := await queue.get()) is not None:
            yield item
    finally:
        for task in (*pumps, closing):
            task.cancel()


class Pipe:
    """One stream of a command, see `Readable`; who fills it waits while it is full."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[bytes] = asyncio.Queue(_WAITING)
        self._rest = b""
        self._is_over = False

    async def put(self, data: bytes) -> None:
        """Add bytes; none at the end."""
        await self._queue.put(data)

    async def read(self, size: int, /) -> bytes:
        """As `Readable.read`."""
        if not self._rest and not self._is_over:
            self._rest = await self._queue.get()
            self._is_over = not self._rest
        part, self._rest = self._rest[:size], self._rest[size:]
        return part
