"""The lines of a journal, and what an index keeps of one."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from prime_cli.core.errors import UsageError
from prime_cli.core.paths import storage_errors
from prime_cli.runs.index.entries import packed
from prime_cli.runs.rows import SCHEMA, Index, Ordinal, Reward, Row


class _Error(msgspec.Struct, rename={"kind": "class"}):
    kind: str


class Digest(msgspec.Struct):
    """What an index keeps of a line; the rest is skipped unread."""

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
    """The byte offset and the content of each line from byte `start`, where a line begins.

    Blank lines and a last one without its newline are left out; no file has no lines.
    """
    if not path.exists():
        return
    offset = start
    with storage_errors(path), path.open("rb") as file:
        file.seek(start)
        for line in file:
            if not line.endswith(b"\n"):
                return
            if line.strip():
                yield offset, line
            offset += len(line)


def read_line(decoder: msgspec.json.Decoder[T], line: bytes, path: Path, number: int) -> T:
    """Line `number` of the journal `path`; raises UsageError when it is none, or too new."""
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
