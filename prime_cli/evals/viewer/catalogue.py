"""The runs saved here, and two of them side by side."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from prime_cli.evals.viewer.grid import Grid, GridRow
from prime_cli.evals.viewer.opened import OpenedRun, RolloutView
from prime_cli.runs.listing import HERE, RunItem, RunRoots, find_run, list_runs
from prime_cli.runs.saved_run import open_run

_SAME = 1e-9


@dataclass(frozen=True)
class PairRow:
    """One example in both runs; a row is None if a run does not have it.

    `difference` is the mean reward of the other run minus that of the first, None if one has no
    reward; the example is a flip if it is not 0.
    """

    example_id: int
    first: GridRow | None
    other: GridRow | None
    difference: float | None

    @property
    def is_flip(self) -> bool:
        """Whether the mean rewards differ."""
        return self.difference is not None and abs(self.difference) > _SAME


class Pair:
    """A snapshot of the examples of two runs."""

    def __init__(self, first: OpenedRun, other: OpenedRun) -> None:
        self.first, self.other = first, other
        self._grids = first.grid(), other.grid()
        self._examples = array("q", sorted(set(chain(*map(_examples, self._grids)))))
        differences = [self._difference(example) or 0.0 for example in self._examples]
        self._flips = array("q", (p for p, value in enumerate(differences) if abs(value) > _SAME))
        self.better = sum(value > _SAME for value in differences)
        self.worse = len(self._flips) - self.better

    def __len__(self) -> int:
        return len(self._examples)

    def row(self, index: int) -> PairRow:
        """Row `index` from 0."""
        example = self._examples[index]
        first, other = (_row(grid, example) for grid in self._grids)
        return PairRow(example, first, other, self._difference(example))

    def flip(self, index: int, step: int) -> int | None:
        """The next (`step` 1) or previous (-1) row that is a flip."""
        after = (
            bisect_right(self._flips, index) if step > 0 else bisect_left(self._flips, index) - 1
        )
        return self._flips[after] if 0 <= after < len(self._flips) else None

    def pages(self, index: int, rollout: int) -> tuple[RolloutView | None, RolloutView | None]:
        """Both runs' rollout number `rollout` of the example in row `index`."""
        example = self._examples[index]
        return self.first.page_at(example, rollout), self.other.page_at(example, rollout)

    def _difference(self, example: int) -> float | None:
        first, other = (_mean(grid, example) for grid in self._grids)
        return None if first is None or other is None else other - first

    def rollouts(self, index: int) -> list[int]:
        """The rollouts of the example in row `index`, in either run."""
        row = self.row(index)
        cells = chain(row.first.cells if row.first else (), row.other.cells if row.other else ())
        return sorted({cell.rollout for cell in cells})


def _examples(grid: Grid) -> Iterator[int]:
    return (grid.example_at(index) for index in range(len(grid)))


def _row(grid: Grid, example: int) -> GridRow | None:
    index = _index(grid, example)
    return None if index is None else grid.row(index)


def _mean(grid: Grid, example: int) -> float | None:
    index = _index(grid, example)
    return None if index is None else grid.mean(index)


def _index(grid: Grid, example: int) -> int | None:
    index = grid.index_of(example)
    return index if index < len(grid) and grid.example_at(index) == example else None


@dataclass(frozen=True)
class SavedRunGroup:
    """Runs of one model on one environment, the newest first."""

    environment: str
    model: str
    runs: Sequence[RunItem]


class Catalogue:
    """The runs below the folder `cwd`, or in `roots`."""

    def __init__(self, cwd: Path, roots: RunRoots = HERE) -> None:
        self._cwd = cwd
        self._roots = roots

    def groups(self) -> list[SavedRunGroup]:
        """All runs, by environment and then by model; read again on each call."""
        found: dict[tuple[str, str], list[RunItem]] = {}
        for item in list_runs(self._cwd, self._roots):
            found.setdefault((item.environment, item.model), []).append(item)
        return [SavedRunGroup(*key, runs) for key, runs in sorted(found.items())]

    def find(self, run: str) -> Path:
        """The folder of the run with this id or in this folder; raises NotFound, UsageError."""
        return find_run(run, self._cwd, self._roots).folder.path

    def open(self, path: Path) -> OpenedRun:
        """The run in a folder; raises NotFound, UsageError."""
        return OpenedRun(open_run(path))

    def pair(self, first: Path, other: Path) -> Pair:
        """The runs in two folders side by side; raises NotFound, UsageError."""
        return Pair(self.open(first), self.open(other))
