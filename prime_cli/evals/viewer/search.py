"""A filter applied to a run bit by bit, so that what was found is shown while it is searched."""

import time

from prime_cli.evals.viewer.filters import Filter, TextSearch
from prime_cli.runs.index.run_index import RunIndex

_LINES = 64
"""Lines between two looks at the clock."""


class Search:
    """What of `index` passes `wanted`; lines that come later are searched by the next `advance`.

    Raises UsageError for a filter that cannot be read.
    """

    def __init__(self, index: RunIndex, wanted: Filter) -> None:
        self._index = index
        self._accepts = wanted.accepts()
        self._text = TextSearch(wanted.text) if wanted.text else None
        self._all = wanted == Filter()
        self._found: set[int] = set()
        self.searched = 0

    @property
    def is_done(self) -> bool:
        """Whether every line was looked at."""
        return self.searched >= len(self._index)

    @property
    def found(self) -> frozenset[int] | None:
        """The lines that pass, as far as it got; None for a filter that asks nothing."""
        return None if self._all else frozenset(self._found)

    @property
    def count(self) -> int:
        """How many lines pass, as far as it got."""
        return len(self._found)

    def advance(self, seconds: float) -> None:
        """Search for about that long; raises StorageFailed and UsageError."""
        if self._all:
            self.searched = len(self._index)
        until = time.monotonic() + seconds
        while not self.is_done and time.monotonic() < until:
            self._look_at(range(self.searched, min(self.searched + _LINES, len(self._index))))

    def _look_at(self, numbers: range) -> None:
        passed = [number for number in numbers if self._accepts(self._index.entries[number])]
        self._found.update(passed if self._text is None else self._having(self._text, passed))
        self.searched = numbers.stop

    def _having(self, text: TextSearch, numbers: list[int]) -> list[int]:
        entries = self._index.entries
        return [
            number
            for number, line in self._index.lines(numbers)
            if text.may_hold(line) and text.holds(self._index.decode(line, number, entries[number]))
        ]
