"""Output of commands that comes in messages, as streams."""

import asyncio

_WAITING = 16


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
