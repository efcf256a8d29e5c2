"""The journal of a run: append-only JSON lines, one for each finished rollout."""

import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import msgspec

from prime_cli.core.errors import UsageError
from prime_cli.core.paths import storage_errors
from prime_cli.evals.rows import SCHEMA, Row
from prime_cli.evals.scrub import Scrubber


class _Key(msgspec.Struct):
    """Which attempt a line is of; what it says is skipped unread."""

    example_id: int
    rollout: int
    attempt: int = 1
    schema: int = SCHEMA


T = TypeVar("T", Row, _Key)

_ROWS = msgspec.json.Decoder(Row)
_KEYS = msgspec.json.Decoder(_Key)
_ENCODER = msgspec.json.Encoder(uuid_format="hex")


class Journal:
    """The writer. Each line goes to the system in one `write` before `append` returns.

    A killed process therefore leaves whole lines, and at most one torn one at the end, which the
    next writer cuts off and every reader skips.
    """

    def __init__(self, path: Path, scrub: Scrubber) -> None:
        self.path = path
        self._scrub = scrub
        self._descriptor = -1

    def __enter__(self) -> Self:
        with storage_errors(self.path):
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
            self._descriptor = os.open(self.path, flags, 0o600)
            os.ftruncate(self._descriptor, _end_of_last_line(self._descriptor))
        return self

    def append(self, row: Row) -> None:
        """Write `row`; raises StorageFailed (disk full, folder gone)."""
        line = self._scrub(_ENCODER.encode(row)) + b"\n"
        with storage_errors(self.path):
            while line:
                line = line[os.write(self._descriptor, line) :]

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
    for number, (_, line) in enumerate(_lines(path), 1):
        yield _read(_ROWS, line, path, number)


def last_attempts(path: Path) -> dict[tuple[int, int], int]:
    """Byte offset of the last attempt of each (example_id, rollout), sorted by that key."""
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for number, (offset, line) in enumerate(_lines(path), 1):
        read = _read(_KEYS, line, path, number)
        key = (read.example_id, read.rollout)
        if read.attempt >= found.get(key, (0, 0))[0]:
            found[key] = (read.attempt, offset)
    return {key: found[key][1] for key in sorted(found)}


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    if not path.exists():
        return
    offset = 0
    with storage_errors(path), path.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                return
            if line.strip():
                yield offset, line
            offset += len(line)


def _read(decoder: msgspec.json.Decoder[T], line: bytes, path: Path, number: int) -> T:
    try:
        row = decoder.decode(line)
    except msgspec.MsgspecError as error:
        raise UsageError(f"Line {number} of {path} is not a rollout: {error}") from error
    if row.schema > SCHEMA:
        raise UsageError(
            f"{path} was written by a newer prime (journal schema {row.schema})",
            hint="upgrade prime to read it",
        )
    return row


def decode_row(line: bytes) -> Row:
    """The row of one journal line that was read before."""
    return _ROWS.decode(line)
