"""The journal of a run: append-only JSON lines, one for each finished rollout."""

import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from prime_cli.core.paths import open_descriptor, storage_errors
from prime_cli.runs.index.file import ROWS, IndexWriter, read_line, whole_lines
from prime_cli.runs.rows import Row
from prime_cli.runs.scrubber import Scrubber

_ENCODER = msgspec.json.Encoder(uuid_format="hex")


class Journal:
    """The writer. Each line goes to the system in one `write` before `append` returns.

    A killed process therefore leaves whole lines, and at most one torn one at the end, which the
    next writer cuts off and every reader skips. An index of the lines is kept beside it.
    """

    def __init__(self, path: Path, scrub: Scrubber) -> None:
        self.path = path
        self._scrub = scrub
        self._descriptor = -1
        self._end = 0
        self._index = IndexWriter()

    def __enter__(self) -> Self:
        with storage_errors(self.path):
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
            self._descriptor = open_descriptor(self.path, flags)
            self._end = _end_of_last_line(self._descriptor)
            os.ftruncate(self._descriptor, self._end)
        self._index = IndexWriter.beside(self.path)
        return self

    def append(self, row: Row) -> None:
        """Write `row`; raises StorageFailed (disk full, folder gone)."""
        line = self._scrub(_ENCODER.encode(row)) + b"\n"
        size = len(line)
        with storage_errors(self.path):
            while line:
                line = line[os.write(self._descriptor, line) :]
        self._index.append(self._end, size, row)
        self._end += size

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._index.close()
        with storage_errors(self.path):
            os.fsync(self._descriptor)
            os.close(self._descriptor)


def _end_of_last_line(descriptor: int) -> int:
    end = os.lseek(descriptor, 0, os.SEEK_END)
    while end > 0:
        start = max(0, end - 65_536)
        os.lseek(descriptor, start, os.SEEK_SET)
        newline = os.read(descriptor, end - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


def read_journal(path: Path) -> Iterator[Row]:
    """The rows of a journal in the order they were written; nothing when there is no file.

    A last line without its newline is a rollout that was being written when the run was killed:
    it is left out. Raises UsageError for a line that is no row, and for a newer schema.
    """
    for number, (_, line) in enumerate(whole_lines(path), 1):
        yield read_line(ROWS, line, path, number)
