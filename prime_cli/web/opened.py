"""A run that pages show: its index at once, its statistics when they have been computed."""

import threading
import time
from array import array
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import pairwise
from math import isnan
from pathlib import Path
from typing import Any, TypeVar

from prime_cli.evals.viewer.filters import Filter, Search, has_steps
from prime_cli.evals.viewer.grid import Grid, Layout
from prime_cli.pages.runs import MetricLine, metric_charts, metric_lines
from prime_cli.pages.templates import Html
from prime_cli.runs.manifest import RUNNING
from prime_cli.runs.rows import Row
from prime_cli.runs.saved_run import SavedRun, open_run, status_of
from prime_cli.runs.summary import Summary

T = TypeVar("T")

_SEARCHES = 8
_SEARCH_SECONDS = 1.0
"""How long a page waits for a search; the next request goes on from there."""
_PATIENCE = 0.3
"""Seconds that a page waits for statistics, which read every transcript."""
_QUICK = 20_000
"""Rollouts of a run whose statistics may be there in that time."""
_BRIEFLY = 0.02
_LATER = 0.5
"""Seconds after which those of larger runs begin, so that the page that asks for them is sent."""
_SHARE = 10


@dataclass(frozen=True)
class Statistics:
    """What only a pass over all rows knows."""

    summary: Summary
    metrics: Sequence[MetricLine]
    charts: Sequence[Html]
    rollouts: int


@dataclass(frozen=True)
class Found:
    """What a filter matches, so far if `searched` is below `total` lines."""

    grid: Grid
    searched: int
    total: int


class LocalRun:
    """The rollouts of a run on disk. May be used by several threads. Raises as `open_run`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self.saved: SavedRun = open_run(path)
        self.index = self.saved.index()
        self.layout = Layout.of(self.index)
        self._searches: OrderedDict[Filter, Search] = OrderedDict()
        self._statistics: Statistics | None = None
        self._computing: Future[Statistics] | None = None
        self._again = 0.0
        self._kept_of = self.layout
        self._kept: dict[str, Any] = {}

    @property
    def run_id(self) -> str:
        return self.path.name

    @property
    def status(self) -> str:
        """Its manifest's, or `finished` for runs of other tools."""
        manifest = self.saved.manifest
        return "finished" if manifest is None else status_of(self.saved.folder, manifest)

    @property
    def is_live(self) -> bool:
        """Whether more rollouts may come."""
        return self.status == RUNNING

    @property
    def has_steps(self) -> bool:
        """Whether these are the rollouts of a training. Raises StorageFailed, UsageError."""
        return self.once("steps", lambda: has_steps(self.index))

    def refresh(self) -> bool:
        """Read what was written since; returns whether there was anything. Raises UsageError."""
        with self._lock:
            before = self.saved.manifest
            self.saved = open_run(self.path)
            if self.index.refresh():
                self.layout = Layout.of(self.index)
                return True
            return before != self.saved.manifest

    def find(self, wanted: Filter) -> Found:
        """The examples with matching rollouts; raises UsageError for a wrong filter."""
        with self._lock:
            search = self._searches.pop(wanted, None) or Search(self.index, wanted)
            self._searches[wanted] = search
            while len(self._searches) > _SEARCHES:
                self._searches.popitem(last=False)
            search.advance(_SEARCH_SECONDS)
            grid = Grid(self.layout, search.found, only_matches=search.is_of_steps)
            return Found(grid, search.searched, len(self.index))

    def rewards(self) -> "array[float]":
        """The rewards of the last attempts that have one, by example and rollout."""
        return self.once("rewards", self._read_rewards)

    def _read_rewards(self) -> "array[float]":
        return array("d", (each for each in self.layout.rewards_in_order() if not isnan(each)))

    def once(self, name: str, compute: Callable[[], T]) -> T:
        """What `compute` gives, until there are more rollouts: passes over 200,000 take a while."""
        with self._lock:
            if self._kept_of is not self.layout:
                self._kept_of, self._kept = self.layout, {}
            if name not in self._kept:
                self._kept[name] = compute()
            found: T = self._kept[name]
            return found

    def by_example(self) -> list[list[float]]:
        """The rewards of each example, without errors."""
        with self._lock:
            layout = self.layout
        rewards = layout.rewards_in_order()
        return [
            [value for value in rewards[start:stop] if not isnan(value)]
            for start, stop in pairwise(layout.starts)
        ]

    def grid(self) -> Grid:
        """All its rollouts."""
        return Grid(self.layout)

    def read(self, example: int, rollout: int) -> Row | None:
        """The last attempt at a rollout; None if there is none. Raises UsageError."""
        with self._lock:
            number = self.index.find(example, rollout)
        return None if number is None else self.index.read_row(number)

    def statistics(self) -> Statistics | None:
        """Those of all rows, or of fewer while they grow; None while the first are computed.

        Raises what reading the rows raises.
        """
        with self._lock:
            known = self._statistics
            if self._computing is None and self._is_due(known):
                self._computing = Future()
                work = threading.Thread(target=self._compute, args=(self._computing,), daemon=True)
                work.start()
            computing = self._computing
        if computing is None:
            return known
        try:
            is_due = known is None or not self.is_live
            is_quick = is_due and len(self.index) <= _QUICK
            return computing.result(_PATIENCE if is_quick else _BRIEFLY)
        except TimeoutError:
            return known

    def _is_due(self, known: Statistics | None) -> bool:
        """Whether they would change; those of a run that grows take a tenth of the time."""
        if known is None:
            return True
        if known.rollouts == len(self.index) and known.summary.status == self.status:
            return False
        return not self.is_live or time.monotonic() >= self._again

    def _compute(self, promise: "Future[Statistics]") -> None:
        if len(self.index) > _QUICK:
            time.sleep(_LATER)
        begun = time.monotonic()
        try:
            count = len(self.index)
            summary, tally = self.saved.measure()
            metrics = tally.metrics()
            found = Statistics(summary, metric_lines(metrics), metric_charts(metrics), count)
        except Exception as error:  # noqa: BLE001 - is raised where the result is asked for
            with self._lock:
                self._computing = None
            promise.set_exception(error)
            return
        now = time.monotonic()
        with self._lock:
            self._again = now + _SHARE * (now - begun)
            self._statistics, self._computing = found, None
        promise.set_result(found)
