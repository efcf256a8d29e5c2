"""An environment's output, written to its log as it arrives, with secrets removed."""

import asyncio
import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from prime_cli.core.paths import make_folder, storage_errors

Scrub = Callable[[bytes], bytes]

LONGEST_PRINT = 1 << 20
"""Longer lines are scrubbed and written in parts of this many bytes."""

_HELD_BACK = 1 << 14
"""Bytes of such a part held back for the next one: a secret may span both."""


class WorkerLog:
    """Appends what is written to `descriptor` to `path`, line by line, each through `scrub`.

    `async with WorkerLog(...) as log` opens both; leaving it waits for the last output.
    """

    def __init__(self, path: Path, scrub: Scrub) -> None:
        self.path = path
        self._scrub = scrub
        self._write_end = -1
        self._file: BinaryIO | None = None
        self._transport: asyncio.ReadTransport | None = None
        self._copying: asyncio.Task[None] | None = None

    @property
    def descriptor(self) -> int:
        """The end that a process gets as stdout and stderr."""
        return self._write_end

    async def open(self) -> None:
        """Open the log and the pipe; raises StorageFailed."""
        make_folder(self.path.parent)
        with storage_errors(self.path):
            self._file = self.path.open("ab", buffering=0)
        read_end, self._write_end = os.pipe()
        reader = asyncio.StreamReader(limit=LONGEST_PRINT)
        pipe = os.fdopen(read_end, "rb", buffering=0)
        self._transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), pipe
        )
        self._copying = asyncio.create_task(self._copy(reader, self._file))

    def started(self) -> None:
        """The process has its own copy of the descriptor: ours would hide its end."""
        if self._write_end >= 0:
            os.close(self._write_end)
            self._write_end = -1

    async def drain(self, seconds: float) -> None:
        """Wait until all output is written, or the pipe is not closed within `seconds`."""
        if self._copying is not None:
            await asyncio.wait([self._copying], timeout=seconds)

    async def close(self) -> None:
        """Write the remainder and close; the process must have ended."""
        self.started()
        await self.drain(1.0)
        if self._copying is not None:
            self._copying.cancel()
        if self._transport is not None:
            self._transport.close()
        if self._file is not None:
            self._file.close()

    async def _copy(self, reader: asyncio.StreamReader, file: BinaryIO) -> None:
        held = b""
        while line := await _next_line(reader):
            line = self._scrub(held + line)
            kept = len(line) if line.endswith(b"\n") else max(0, len(line) - _HELD_BACK)
            _write(file, line[:kept])
            held = line[kept:]
        _write(file, held)


def _write(file: BinaryIO, content: bytes) -> None:
    # A full disk ends the run through its journal, but the pipe must still be drained, or the
    # environment would block on its output forever.
    with contextlib.suppress(OSError):
        file.write(content)


async def _next_line(reader: asyncio.StreamReader) -> bytes:
    """The next line with its line ending, part of a very long one, or b"" at the end."""
    try:
        return await reader.readuntil(b"\n")
    except asyncio.IncompleteReadError as error:
        return error.partial
    except asyncio.LimitOverrunError as error:
        return await reader.readexactly(error.consumed)
