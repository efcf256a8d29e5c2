"""A snapshot of a run as examples by rollouts: rows are built when they are shown."""

import math
from array import array
from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from prime_cli.runs.index.entries import IndexEntries
from prime_cli.runs.outcomes import RolloutColumns
from prime_cli.runs.run_index import RunIndex


@dataclass(frozen=True)
class GridCell:
    """The last attempt at one rollout; `number` is its line, `is_match` the filter's result."""

    number: int
    rollout: int
    reward: float | None
    error: str | None
    is_truncated: bool
    is_match: bool


@dataclass(frozen=True)
class GridRow:
    """One example; `mean` is over the rollouts with a reward."""

    example_id: int
    cells: Sequence[GridCell]
    mean: float | None


class Layout:
    """The last attempts of a run, sorted, and where each example begins among them."""

    def __init__(self, entries: IndexEntries, latest: "array[int]") -> None:
        self.entries, self.latest = entries, latest
        self._having: dict[str, frozenset[int]] = {}
        examples = self.entries.examples(self.latest)
        changes = (index for index, (a, b) in enumerate(pairwise(examples), 1) if a != b)
        self.starts = array("q", [0, *changes] if examples else [])
        self.starts.append(len(self.latest))

    @classmethod
    def of(cls, index: RunIndex) -> "Layout":
        """That of all rollouts."""
        return cls(index.entries, index.latest)

    def among(self, found: Collection[int]) -> "Layout":
        """That of the rollouts in these lines alone."""
        return Layout(self.entries, array("q", filter(found.__contains__, self.latest)))

    def places(self, found: Collection[int]) -> "array[int]":
        """Where the rollouts in these lines are in `latest`."""
        return array("q", (at for at, number in enumerate(self.latest) if number in found))

    @cached_property
    def rewards(self) -> Sequence[float]:
        """The reward of every line, NaN for none."""
        return self.entries.rewards()

    @cached_property
    def columns(self) -> RolloutColumns:
        """The last attempts, each at its place in `latest`."""
        marks = self.entries.marks(self.latest)
        lengths = self.entries.lengths(self.latest)
        return RolloutColumns(self.starts, self.rewards_in_order(), *marks, lengths)

    def having(self, outcome: str) -> frozenset[int]:
        """The lines of the last attempts with this outcome."""
        if outcome not in self._having:
            places = self.columns.having(outcome)
            self._having[outcome] = frozenset(self.latest[place] for place in places)
        return self._having[outcome]

    def rewards_in_order(self) -> list[float]:
        """The rewards of the last attempts, NaN for none."""
        rewards = self.rewards
        return [rewards[number] for number in self.latest]

    def mean(self, index: int) -> float | None:
        """The mean reward of the example at `index`; None without a reward."""
        rewards = self.rewards
        numbers = self.latest[self.starts[index] : self.starts[index + 1]]
        scored = [rewards[number] for number in numbers if not math.isnan(rewards[number])]
        return math.fsum(scored) / len(scored) if scored else None

    @property
    def examples(self) -> int:
        """The number of examples."""
        return len(self.starts) - 1

    def example_at(self, index: int) -> int:
        """The id of the example at `index`."""
        return self.entries.key(self.latest[self.starts[index]])[0]


class Grid:
    """The examples that have a rollout among `found` (line numbers), or all of them for None.

    Their other rollouts stay beside these, unless the grid has `only_matches`: an example of a
    training has many, and those of a step are what was compared.
    """

    def __init__(
        self,
        layout: Layout,
        found: Collection[int] | None = None,
        *,
        only_matches: bool = False,
    ) -> None:
        if only_matches and found is not None:
            layout, found = layout.among(found), None
        self._layout = layout
        self._found = found
        self.is_numbered = not only_matches
        """Whether a rollout is in the column of its number."""
        every = range(layout.examples)
        self._shown: Sequence[int] = every
        self.matches = len(layout.latest)
        if found is not None:
            hits = layout.places(found)
            self.matches = len(hits)
            self._shown = array("q", _rows_of(hits, layout.starts))
        sizes = (layout.starts[row + 1] - layout.starts[row] for row in self._shown)
        self.columns = max(sizes, default=0)

    def __len__(self) -> int:
        return len(self._shown)

    def row(self, index: int) -> GridRow:
        """Row `index` from 0."""
        layout, example = self._layout, self._shown[index]
        start, stop = layout.starts[example], layout.starts[example + 1]
        cells = [self._cell(number) for number in layout.latest[start:stop]]
        return GridRow(layout.example_at(example), cells, layout.mean(example))

    def mean(self, index: int) -> float | None:
        """The mean reward of row `index`, quicker than the row."""
        return self._layout.mean(self._shown[index])

    def example_at(self, index: int) -> int:
        """The example of row `index`, quicker than the row."""
        return self._layout.example_at(self._shown[index])

    def index_of(self, example_id: int) -> int:
        """The row of an example, or where it would be."""
        return bisect_left(self._shown, example_id, key=self._layout.example_at)

    def neighbour(self, number: int, step: int) -> int | None:
        """The line of the next (`step` 1) or the previous (-1) match after line `number`."""
        layout = self._layout
        key = layout.entries.key(number)
        index = bisect_left(layout.latest, key, key=layout.entries.key) + step
        while 0 <= index < len(layout.latest):
            if self._is_match(layout.latest[index]):
                return layout.latest[index]
            index += step
        return None

    def _is_match(self, number: int) -> bool:
        return self._found is None or number in self._found

    def _cell(self, number: int) -> GridCell:
        entry = self._layout.entries[number]
        return GridCell(
            number,
            entry.rollout,
            entry.reward,
            entry.error,
            entry.is_truncated,
            self._is_match(number),
        )


def _rows_of(hits: Sequence[int], starts: Sequence[int]) -> list[int]:
    """The rows, each once, that contain the places `hits` (ascending)."""
    rows: list[int] = []
    row = 0
    for index in hits:
        while starts[row + 1] <= index:
            row += 1
        if not rows or rows[-1] != row:
            rows.append(row)
    return rows
