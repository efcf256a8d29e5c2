"""An environment's output, written to its log as it arrives, with secrets removed."""

import asyncio
import contextlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from prime_cli.core.formatting import format_duration
from prime_cli.core.paths import make_folder, storage_errors

Scrub = Callable[[bytes], bytes]
OnPrint = Callable[[str], None]
"""Called with each line as a terminal would show it, without colours and what was overwritten."""

LONGEST_PRINT = 1 << 20
"""Longer lines are scrubbed and written in parts of about this many bytes."""

LARGEST_LOG = 64 << 20
"""Bytes of a log; of what an environment prints beyond them only the end is kept."""

_END_BYTES = 1 << 16
"""Bytes of that end."""

_HELD_BACK = 1 << 14
"""Bytes of such a part held back for the next one: a secret may span both."""

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_LONGEST_SHOWN = 2000
"""Characters of a line."""


class WorkerLog:
    """Appends what is written to `descriptor` to `path`, line by line, each through `scrub`.

    `open` opens both; `close` waits for the last output. What is not blank goes to `on_print` too.
    """

    def __init__(self, path: Path, scrub: Scrub, on_print: OnPrint | None = None) -> None:
        self.path = path
        self._scrub = scrub
        self._on_print = on_print
        self._last = self._rest = b""
        self._write_end = -1
        self._room = LARGEST_LOG
        self._beyond = 0
        self._end = b""
        self._file: BinaryIO | None = None
        self._transport: asyncio.ReadTransport | None = None
        self._copying: asyncio.Task[None] | None = None

    @property
    def descriptor(self) -> int:
        """The end that a process gets as stdout and stderr."""
        return self._write_end

    @property
    def last(self) -> str:
        """The last line that is not blank, which may not have ended yet; empty if there is none."""
        return shown(self._scrub(self._rest)) or shown(self._last)

    async def open(self) -> None:
        """Open the log and the pipe; raises StorageFailed."""
        make_folder(self.path.parent)
        with storage_errors(self.path):
            self._file = self.path.open("ab", buffering=0)
            self._room = max(0, LARGEST_LOG - self._file.tell())
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
        try:
            await self.drain(1.0)
        finally:
            if self._copying is not None:
                self._copying.cancel()
            if self._transport is not None:
                self._transport.close()
            if self._file is not None:
                self._file.close()

    async def _copy(self, reader: asyncio.StreamReader, file: BinaryIO) -> None:
        while chunk := await reader.read(LONGEST_PRINT):
            lines, end, rest = (self._rest + chunk).rpartition(b"\n")
            lines = self._scrub(lines + end)
            if len(rest) > LONGEST_PRINT:
                rest = self._scrub(rest)
                lines, rest = lines + rest[:-_HELD_BACK], rest[-_HELD_BACK:]
            self._keep(file, lines)
            self._rest = rest
        self._keep(file, self._scrub(self._rest))
        if self._beyond:
            left_out = self._beyond - len(self._end)
            _write(file, f"\n[prime: {left_out:,} bytes of output are left out]\n".encode())
            _write(file, self._end)

    def _keep(self, file: BinaryIO, lines: bytes) -> None:
        begin, beyond = lines[: self._room], lines[self._room :]
        _write(file, begin)
        self._room -= len(begin)
        self._beyond += len(beyond)
        self._end = (self._end + beyond)[-_END_BYTES:]
        if self._on_print is None:
            found = lines.rstrip().rpartition(b"\n")[2]
            self._last = found or self._last
            return
        for line in filter(None, lines.split(b"\n")):
            text = shown(line)
            if text:
                self._last = line
                self._on_print(text)


SLOW_LOAD_SECONDS = 10.0
"""Environments may take this long to import or load before it is worth a word."""


def slow_words(seconds: float, last: str) -> str:
    """`12s so far: Fetching 3/17`, with the `last` line that was printed; nothing if quick."""
    if seconds < SLOW_LOAD_SECONDS:
        return ""
    return f"{format_duration(seconds)} so far: {last or 'it prints nothing'}"


def last_shown(printed: str) -> str:
    """The last line of an output that is not blank."""
    lines = (shown(line.encode()) for line in reversed(printed[-_LONGEST_SHOWN:].split("\n")))
    return next(filter(None, lines), "")


def shown(line: bytes) -> str:
    """What a terminal would show of a line, without colours, cut to a length a person reads."""
    text = _ESCAPES.sub("", line[-(_LONGEST_SHOWN * 8) :].decode("utf-8", "replace")).rstrip()
    return text.rpartition("\r")[2][:_LONGEST_SHOWN]


def _write(file: BinaryIO, content: bytes) -> None:
    # A full disk ends the run through its journal, but the pipe must still be drained, or the
    # environment would block on its output forever.
    with contextlib.suppress(OSError):
        file.write(content)
