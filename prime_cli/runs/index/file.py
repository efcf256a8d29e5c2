"""journal.idx: the entries of a journal, kept beside it. A cache: its contents are verified.

16 bytes of header (the letters PRIMEIDX, then the number 1 as a 64-bit word in the byte order of
the writing machine), then one 56-byte record per line, from the first on.
"""

import os
import struct
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Self, TypeVar

import msgspec

from prime_cli.core.errors import StorageFailed, UsageError
from prime_cli.core.paths import open_descriptor, open_regular, storage_errors, write_atomically
from prime_cli.runs.index.entries import RECORD, IndexEntries, packed
from prime_cli.runs.rows import SCHEMA, Index, Ordinal, Reward, Row


class _Error(msgspec.Struct, rename={"kind": "class"}):
    kind: str


class Digest(msgspec.Struct):
    """The parts of a line that an index keeps; the rest is skipped unread."""

    example_id: Index
    rollout: Ordinal
    attempt: Ordinal = 1
    reward: Reward | None = None
    error: _Error | None = None
    is_truncated: bool = False
    schema: int = SCHEMA


T = TypeVar("T", Row, Digest)

ROWS = msgspec.json.Decoder(Row)
_DIGESTS = msgspec.json.Decoder(Digest)


def whole_lines(path: Path, start: int = 0) -> Iterator[tuple[int, bytes]]:
    """The byte offset and content of each line from byte `start`, which must begin a line.

    Blank lines and a last one without a newline are left out; a missing file has no lines.
    """
    if not path.exists():
        return
    offset = start
    with storage_errors(path), open_regular(path) as file:
        file.seek(start)
        for line in file:
            if not line.endswith(b"\n"):
                return
            if line.strip():
                yield offset, line
            offset += len(line)


def read_line(decoder: msgspec.json.Decoder[T], line: bytes, path: Path, number: int) -> T:
    """Line `number` of the journal `path`; raises UsageError if it is not a row, or too new."""
    try:
        row = decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"Line {number} of {path} is not a rollout: {error}") from error
    if row.schema > SCHEMA:
        raise UsageError(
            f"{path} was written by a newer prime (journal schema {row.schema})",
            hint="upgrade prime to read it",
        )
    return row


def record_of(line: bytes, offset: int, path: Path, number: int) -> bytes:
    """The record of a line at byte `offset`; raises UsageError as `read_line`."""
    digest = read_line(_DIGESTS, line, path, number)
    try:
        return packed(
            offset,
            len(line),
            digest.example_id,
            digest.rollout,
            digest.attempt,
            digest.reward,
            digest.error.kind if digest.error else None,
            digest.is_truncated,
        )
    except struct.error as error:
        raise UsageError(f"Line {number} of {path} is not a rollout: {error}") from error


def records_from(path: Path, start: int, before: int) -> Iterator[bytes]:
    """The records of the lines from byte `start`, which `before` lines precede."""
    for number, (offset, line) in enumerate(whole_lines(path, start), before + 1):
        yield record_of(line, offset, path, number)


HEADER = struct.pack("=8sq", b"PRIMEIDX", 1)
_BUFFER = 256 * RECORD.size
_SAMPLES = 64
"""Number of lines compared with their records before an index is trusted: all of short journals.

For longer ones all offsets have to match too, so the only index trusted in error is that of a
journal with the same length line by line that differs between the samples.
"""


def index_path(journal: Path) -> Path:
    """The path of the index of `journal`."""
    return journal.with_suffix(".idx")


def load_entries(journal: Path) -> IndexEntries:
    """The entries of the index of `journal` that agree with it; perhaps none.

    Leaves out a torn record, and those of lines no longer in the journal. An index of another
    journal is detected by its offsets and by a few lines, including the last.
    """
    try:
        with open_regular(index_path(journal)) as file:
            content = file.read()
        size = journal.stat().st_size
    except OSError:
        return IndexEntries()
    if not content.startswith(HEADER):
        return IndexEntries()
    count = (len(content) - len(HEADER)) // RECORD.size
    records = memoryview(content)[len(HEADER) :]
    entries = IndexEntries(records[: count * RECORD.size])
    if not entries.are_contiguous():
        return IndexEntries()
    entries.cut(bisect_right(range(len(entries)), size, key=entries.end))
    return entries if _agree(entries, journal) else IndexEntries()


def _agree(entries: IndexEntries, journal: Path) -> bool:
    last = len(entries) - 1
    if last < 0:
        return True
    with storage_errors(journal), open_regular(journal) as file:
        for number in sorted({last * sample // (_SAMPLES - 1) for sample in range(_SAMPLES)}):
            entry = entries[number]
            file.seek(entry.offset)
            line = file.read(entry.length)
            if line.find(b"\n") != entry.length - 1:
                return False
            try:
                record = record_of(line, entry.offset, journal, number + 1)
            except UsageError:
                # The scan that follows reports which line it is.
                return False
            if record != entries.content(number, number + 1):
                return False
    return True


def scan_rest(journal: Path, entries: IndexEntries) -> int:
    """Add the lines of `journal` missing in `entries`; returns how many. Raises UsageError."""
    known = len(entries)
    start = entries.end(known - 1) if known else 0
    for record in records_from(journal, start, known):
        entries.extend(record)
    return len(entries) - known


def save_entries(journal: Path, entries: IndexEntries) -> None:
    """Write the index of `journal`; raises StorageFailed."""
    write_atomically(index_path(journal), HEADER + entries.content())


class IndexWriter:
    """Adds a record per line written; a failure here ends the index, not the run.

    Records are written some hundreds at a time, the rest on close: a reader scans what is missing.
    """

    def __init__(self, descriptor: int = -1) -> None:
        self._descriptor = descriptor
        self._buffer = bytearray()

    @classmethod
    def beside(cls, journal: Path) -> Self:
        """The writer for `journal`, whose last line is whole; brings the index up to date."""
        path = index_path(journal)
        try:
            entries = load_entries(journal)
            known = len(entries)
            scan_rest(journal, entries)
            descriptor = open_descriptor(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            writer = cls(descriptor)
            os.ftruncate(descriptor, len(HEADER) + known * RECORD.size if known else 0)
            writer._buffer += (b"" if known else HEADER) + entries.content(known)
            writer._flush()
        except (OSError, StorageFailed, UsageError):
            return cls()
        return writer

    def append(self, offset: int, length: int, row: Row) -> None:
        """Add `row`, the line of `length` bytes at `offset`."""
        if self._descriptor < 0:
            return
        try:
            self._buffer += packed(
                offset,
                length,
                row.example_id,
                row.rollout,
                row.attempt,
                row.reward,
                row.error.kind if row.error else None,
                row.is_truncated,
            )
        except struct.error:
            self.close()  # a number of more than 64 bits
            return
        if len(self._buffer) >= _BUFFER:
            self._flush()

    def close(self) -> None:
        """Write the remaining records."""
        self._flush()
        self._give_up()

    def _flush(self) -> None:
        try:
            written = os.write(self._descriptor, self._buffer) if self._descriptor >= 0 else 0
        except OSError:
            written = 0
        if written < len(self._buffer):
            # Records after a gap would be wrong; those before it are still right.
            self._give_up()
        self._buffer.clear()

    def _give_up(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
