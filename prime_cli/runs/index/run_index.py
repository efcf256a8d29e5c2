"""The index of a run: its rollouts in order, and each of them read when it is asked for."""

from abc import ABC, abstractmethod
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from prime_cli.core.errors import StorageFailed
from prime_cli.core.paths import storage_errors
from prime_cli.runs.folder import RunFolder, is_being_written
from prime_cli.runs.index.entries import Entries, Entry
from prime_cli.runs.index.file import load_entries, save_entries, scan_rest
from prime_cli.runs.index.lines import ROWS, read_line
from prime_cli.runs.rows import Row

_WORTH_SAVING = 1000
"""An index that lacked fewer lines is left as it is."""


class RunIndex(ABC):
    """The lines of a run's file, numbered from 0 as they lie there.

    Some 65 bytes a line, whatever the transcripts weigh.
    """

    def __init__(self, path: Path, entries: Entries) -> None:
        self.path = path
        self.entries = entries

    def __len__(self) -> int:
        return len(self.entries)

    @cached_property
    def latest(self) -> "array[int]":
        """Line numbers of the last attempts, sorted by example and rollout."""
        return self.entries.latest()

    def find(self, example_id: int, rollout: int) -> int | None:
        """The line of the last attempt at this rollout."""
        key = (example_id, rollout)
        place = bisect_left(self.latest, key, key=self.entries.key)
        if place == len(self.latest) or self.entries.key(self.latest[place]) != key:
            return None
        return self.latest[place]

    def rows(self) -> Iterator[Row]:
        """The last attempts in their order; one row is in memory at a time."""
        return self.read(self.latest)

    def read(self, numbers: Sequence[int]) -> Iterator[Row]:
        """The rows of these lines; raises StorageFailed."""
        for number, line in self.lines(numbers):
            yield self.decode(line, number, self.entries[number])

    def lines(self, numbers: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """These lines as they are written, undecoded; raises StorageFailed."""
        if not numbers:
            return
        with storage_errors(self.path), self.path.open("rb", buffering=0) as file:
            for number in numbers:
                entry = self.entries[number]
                file.seek(entry.offset)
                yield number, file.read(entry.length)

    def read_row(self, number: int) -> Row:
        """The row of line `number`; raises StorageFailed."""
        return next(self.read([number]))

    @abstractmethod
    def decode(self, line: bytes, number: int, entry: Entry) -> Row:
        """The row that a line holds; raises UsageError."""

    @abstractmethod
    def refresh(self) -> int:
        """Take up the lines that were written since; how many. Raises UsageError."""


class JournalIndex(RunIndex):
    """The index of a journal, from journal.idx as far as that agrees with it."""

    def decode(self, line: bytes, number: int, entry: Entry) -> Row:
        return read_line(ROWS, line, self.path, number + 1)

    def refresh(self) -> int:
        found = scan_rest(self.path, self.entries)
        if found:
            self.__dict__.pop("latest", None)
        return found


def index_journal(journal: Path) -> JournalIndex:
    """The index of `journal`, of no lines where there is no such file.

    Where much of it had to be made anew it is saved, if the folder can be written and no run is
    writing there. Raises UsageError for a line that is no rollout.
    """
    index = JournalIndex(journal, load_entries(journal))
    if index.refresh() >= _WORTH_SAVING and not is_being_written(RunFolder(journal.parent)):
        with suppress(StorageFailed):
            save_entries(journal, index.entries)
    return index
