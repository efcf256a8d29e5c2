"""A text in the rollouts of many runs: who said it, and where.

Files are scanned as bytes; only lines that may have the text are decoded.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from io import BytesIO

import msgspec

from prime_cli.core.errors import PrimeError, UsageError
from prime_cli.core.paths import open_regular, storage_errors
from prime_cli.core.progress import Progress, Task
from prime_cli.evals.viewer.filters import TextSearch
from prime_cli.runs.rows import Row
from prime_cli.runs.run_index import RunIndex
from prime_cli.runs.saved_run import SavedRun
from prime_cli.runs.transcript import Block, message_blocks, transcript

_BLOCK = 4 << 20
"""Bytes that are looked through at once."""
_AROUND = 40
"""Characters of a snippet on either side of the text."""


class SearchPart(StrEnum):
    """What of a rollout is searched: `answers` of the model, with what it thinks; `prompts`, with
    all else that it is told and the expected answer; `tools` called, with their results; `errors`.
    """

    ANSWERS = "answers"
    PROMPTS = "prompts"
    TOOLS = "tools"
    ERRORS = "errors"


class Hit(msgspec.Struct, frozen=True):
    """A passage with the text, the first in what was said at once; `said_by` is a role or `error`.

    `snippet` is on one line, with `…` where it was cut.
    """

    run_id: str
    rollout: str
    part: SearchPart
    said_by: str
    snippet: str
    path: str


class Hits(msgspec.Struct, frozen=True):
    """The hits in `runs` runs; `more` if the limit ended the search, `unread` runs are damaged."""

    hits: list[Hit]
    runs: int
    unread: int
    more: bool


@dataclass(frozen=True)
class WantedText:
    """What is searched for, and in which parts; raises UsageError for an invalid expression."""

    text: str
    is_regex: bool = False
    ignore_case: bool = False
    parts: frozenset[SearchPart] = frozenset(SearchPart)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Finds it."""
        flags = re.IGNORECASE if self.ignore_case else re.NOFLAG
        if not self.is_regex and self.text.isascii():
            flags |= re.ASCII  # as bytes are compared
        try:
            return re.compile(self.text if self.is_regex else re.escape(self.text), flags)
        except re.error as error:
            raise UsageError(f"`{self.text}` is not a regular expression: {error}") from error

    def may_be_in(self, content: bytes) -> bool:
        """Whether `content` must be decoded to know; lines of JSON."""
        return self._needle is None or self._needle.may_hold(content)

    @cached_property
    def _needle(self) -> TextSearch | None:
        return None if self.is_regex else TextSearch(self.text, ignore_case=self.ignore_case)


def search_runs(
    runs: Iterable[SavedRun], wanted: WantedText, limit: int, progress: Progress
) -> Hits:
    """The first `limit` hits in the last attempts of `runs`, in the order of the files.

    A run that cannot be read is named in a warning. Raises UsageError for an invalid expression.
    """
    hits: list[Hit] = []
    known, count, unread = list(runs), 0, 0
    require_text(wanted)
    with progress.task("Searching", unit="bytes") as task:
        task.update(total=sum(map(_size, known)))
        for count, run in enumerate(known, 1):
            try:
                for hit in _hits(run, wanted, task):
                    if len(hits) == limit:
                        return Hits(hits, count, unread, more=True)
                    hits.append(hit)
            except PrimeError as error:
                unread += 1
                progress.warn(f"The rest of run {run.folder.run_id} is unread: {error.message}")
    return Hits(hits, count, unread, more=False)


def require_text(wanted: WantedText) -> None:
    """Raise UsageError for an empty text or an invalid expression."""
    if not wanted.text:
        raise UsageError("There is no text to search for", hint="`prime eval search timeout`")
    _ = wanted.pattern


def _size(run: SavedRun) -> int:
    with suppress(OSError):
        return run.rollouts_file.stat().st_size
    return 0


def _hits(run: SavedRun, wanted: WantedText, task: Task) -> Iterator[Hit]:
    index: RunIndex | None = None
    number = -1
    for offset, line in _lines(run, wanted, task):
        index = index or run.index
        number = _number_at(index, offset, number + 1)
        entry = index.entries[number] if number >= 0 else None
        if entry is None or entry.offset != offset:
            continue  # torn: it was being written
        row = index.decode(line, number, entry)
        hits = list(_in_row(row, run, wanted))
        if hits and index.find(*entry.key) == number:
            yield from hits


def _in_row(row: Row, run: SavedRun, wanted: WantedText) -> Iterator[Hit]:
    for part, (label, text) in dict.fromkeys(_blocks(row)):
        found = wanted.pattern.search(text) if part in wanted.parts else None
        if found is not None:
            name, snippet = f"{row.example_id}.{row.rollout}", _snippet(text, found)
            yield Hit(run.folder.run_id, name, part, label, snippet, str(run.folder.path))


def _lines(run: SavedRun, wanted: WantedText, task: Task) -> Iterator[tuple[int, bytes]]:
    """Byte offset and content of each line that may have the text."""
    path = run.rollouts_file
    if not path.exists():
        return
    offset = 0
    with storage_errors(path), open_regular(path) as file:
        while block := file.read(_BLOCK) + file.readline():
            task.advance(len(block))
            for line in BytesIO(block) if wanted.may_be_in(block) else ():
                if wanted.may_be_in(line):
                    yield offset, line
                offset += len(line)
            offset = file.tell()


def _number_at(index: RunIndex, offset: int, likely: int) -> int:
    """The last line of `index` that begins by byte `offset`."""
    if likely < len(index) and index.entries[likely].offset == offset:
        return likely
    return bisect_right(range(len(index)), offset, key=lambda n: index.entries[n].offset) - 1


def _blocks(row: Row) -> Iterator[tuple[SearchPart, Block]]:
    for block in message_blocks(row.prompt):
        yield _part_of(block[0], SearchPart.PROMPTS), block
    for said in (row.completion, *(row.state.get("branches") or ())):
        for block in message_blocks(said):
            yield _part_of(block[0], SearchPart.ANSWERS), block
    # What follows the messages: the expected answer and the error.
    rest = msgspec.structs.replace(row, prompt=None, completion=None, metrics={})
    for label, text in transcript(rest):
        if label in _BESIDE:
            yield _BESIDE[label], (label, text)


_BESIDE = {"answer": SearchPart.PROMPTS, "error": SearchPart.ERRORS, "traceback": SearchPart.ERRORS}


def _part_of(label: str, text: SearchPart) -> SearchPart:
    """The part of a message; a `text` without a role is the prompt or the answer as a whole."""
    if label == "tool" or label.endswith(" calls"):
        return SearchPart.TOOLS
    if label == "text":
        return text
    return SearchPart.ANSWERS if label.startswith("assistant") else SearchPart.PROMPTS


def _snippet(text: str, found: re.Match[str]) -> str:
    start = max(0, found.start() - _AROUND)
    end = min(len(text), min(found.end(), found.start() + 2 * _AROUND) + _AROUND)
    words = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{words}{'…' if end < len(text) else ''}"
