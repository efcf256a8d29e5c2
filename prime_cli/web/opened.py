"""Runs that pages show: each page is of one moment, and its statistics of the same."""

import threading
import time
from array import array
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from math import isnan
from pathlib import Path
from typing import Any, TypeVar

from prime_cli.evals.viewer.filters import Filter, Search, has_steps
from prime_cli.evals.viewer.grid import Grid, Layout
from prime_cli.models.prices import Charges
from prime_cli.pages.runs import MetricLine, metric_charts, metric_lines
from prime_cli.pages.templates import Html
from prime_cli.runs.manifest import RUNNING
from prime_cli.runs.rows import Row
from prime_cli.runs.run_index import RunIndex
from prime_cli.runs.saved_run import RowTotals, SavedRun, open_run
from prime_cli.runs.summary import Summary

T = TypeVar("T")
_Searching = Callable[[Filter, RunIndex], Search]

_SEARCHES = 8
_SEARCH_SECONDS = 1.0
"""How long a page waits for a search; the next request goes on from there."""
_PATIENCE = 0.3
"""Seconds that a page waits for statistics, which read every transcript once."""
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
    charges: Charges


@dataclass(frozen=True)
class Matches:
    """The places in `layout` that a filter matches, so far if `searched` is below `total` lines.

    They are None for all of them.
    """

    layout: Layout
    places: Sequence[int] | None
    searched: int
    total: int

    @property
    def count(self) -> int:
        return len(self.layout.latest if self.places is None else self.places)


class LocalRun:
    """A run on disk at one moment: what one page shows of it. May be used by several threads.

    `statistics` are None while those of the run are computed for the first time.
    """

    def __init__(self, saved: SavedRun, layout: Layout, search: _Searching) -> None:
        self.saved, self.index, self.layout = saved, saved.index, layout
        self.path, self.status = saved.folder.path, saved.status
        self.statistics: Statistics | None = None
        self._search = search
        self._lock = threading.RLock()
        self._kept: dict[str, Any] = {}

    @property
    def run_id(self) -> str:
        return self.path.name

    @property
    def title(self) -> str:
        """Its environment and its model."""
        manifest, official = self.saved.manifest, self.saved.official or {}
        environment = official.get("env_id") or official.get("env") or "?"
        title = environment if manifest is None else manifest.plan.environment.title
        return f"{title} with {self.model}"

    @property
    def model(self) -> str:
        """Its model; a question mark where nothing says which."""
        manifest = self.saved.manifest
        if manifest is not None:
            return manifest.plan.model
        return str((self.saved.official or {}).get("model", "?"))

    @property
    def is_live(self) -> bool:
        """Whether more rollouts may come."""
        return self.status == RUNNING

    @property
    def changes(self) -> int:
        """How often somebody has steered it."""
        return 0 if self.saved.manifest is None else len(self.saved.manifest.changes)

    @property
    def has_steps(self) -> bool:
        """Whether these are the rollouts of a training. Raises StorageFailed, UsageError."""
        return self.once("steps", lambda: has_steps(self.index))

    def find(self, wanted: Filter) -> Matches:
        """The matching rollouts; raises UsageError for a wrong filter."""
        search = self._search(wanted, self.index)
        found, layout = search.found(self.layout), self.layout
        if search.is_of_steps and found is not None:
            layout, found = layout.among(found), None
        places = None if found is None else layout.places(found)
        return Matches(layout, places, min(search.searched, len(self.index)), len(self.index))

    def rewards(self) -> "array[float]":
        """The rewards of the last attempts that have one, by example and rollout."""
        return self.once("rewards", self.index.rewards)

    def once(self, name: str, compute: Callable[[], T]) -> T:
        """What `compute` gives, computed once: passes over 200,000 rollouts take a while."""
        with self._lock:
            if name not in self._kept:
                self._kept[name] = compute()
            found: T = self._kept[name]
            return found

    def by_example(self) -> list[list[float]]:
        """The rewards of each example, without errors."""
        rewards = self.layout.rewards_in_order()
        return [
            [value for value in rewards[start:stop] if not isnan(value)]
            for start, stop in pairwise(self.layout.starts)
        ]

    def grid(self) -> Grid:
        """All its rollouts."""
        return Grid(self.layout)

    def read(self, example: int, rollout: int) -> Row | None:
        """The last attempt at a rollout; None if there is none. Raises UsageError."""
        number = self.index.find(example, rollout)
        return None if number is None else self.index.read_row(number)


class FollowedRun:
    """A run on disk, moment by moment. May be used by several threads. Raises as `open_run`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock, self._turn = threading.RLock(), threading.Lock()
        self._searches: OrderedDict[Filter, Search] = OrderedDict()
        saved = open_run(path)
        self._now = LocalRun(saved, Layout.of(saved.index), self._search)
        self._measured: LocalRun | None = None
        self._computing: Future[None] | None = None
        self._again = 0.0
        self._forget(self._now)

    def now(self) -> LocalRun:
        """As it is now, whether or not its statistics are known. Raises UsageError."""
        with self._lock:
            before, saved = self._now, self._now.saved.renewed()
            is_same = saved.index is before.index
            if not is_same or (saved.manifest, saved.status) != (
                before.saved.manifest,
                before.status,
            ):
                layout = before.layout if is_same else Layout.of(saved.index)
                self._now = LocalRun(saved, layout, self._search)
            return self._now

    def _search(self, wanted: Filter, index: RunIndex) -> Search:
        """The search for `wanted`, which goes on from page to page; the last few are kept."""
        with self._turn:
            search = self._searches.pop(wanted, None) or Search(wanted)
            self._searches[wanted] = search
            while len(self._searches) > _SEARCHES:
                self._searches.popitem(last=False)
            search.advance(index, _SEARCH_SECONDS)
            return search

    def measured(self) -> LocalRun:
        """As it is now with statistics, or as it was when there were any the last time.

        Raises what reading the rows raises.
        """
        now = self.now()
        with self._lock:
            if self._computing is None and self._is_due(now):
                self._computing = Future()
                work = threading.Thread(target=self._compute, args=(self._computing,), daemon=True)
                work.start()
            computing = self._computing
        if computing is not None and now.statistics is None:
            with suppress(TimeoutError):
                computing.result(_PATIENCE if len(now.index) <= _QUICK else _BRIEFLY)
        return self._measured or now

    def _is_due(self, now: LocalRun) -> bool:
        """Whether its statistics are wanted; of a run that grows they take a tenth of the time."""
        is_waiting = now.is_live and time.monotonic() < self._again
        return now.statistics is None and not is_waiting

    def _compute(self, promise: "Future[None]") -> None:
        if len(self._now.index) > _QUICK and self._measured is None:
            time.sleep(_LATER)
        begun = time.monotonic()
        try:
            self._count(self._now)
            run = self._now  # with what came meanwhile
            self._count(run)
            summary, metrics = run.saved.summarize(self._totals), self._totals.tally.metrics()
            charges = self._totals.spending.charges()
            lines, charts = metric_lines(metrics), metric_charts(metrics)
            run.statistics = Statistics(summary, lines, charts, charges)
        except Exception as error:  # noqa: BLE001 - is raised where the result is asked for
            with self._lock:
                self._forget(self._now)
                self._computing = None
            promise.set_exception(error)
            return
        now = time.monotonic()
        with self._lock:
            self._again = now + _SHARE * (now - begun)
            self._measured, self._computing = run, None
            if not run.is_live:  # of 200,000 rollouts they take some 30 MB
                self._forget(run)
        promise.set_result(None)

    def _forget(self, run: LocalRun) -> None:
        self._totals, self._entries = RowTotals(run.saved), run.index.entries
        self._lines = 0

    def _count(self, run: LocalRun) -> None:
        """Add up the lines that came since the last time, or all of a file that was replaced."""
        if run.index.entries is not self._entries:
            self._forget(run)
        self._totals.add(run.index.read(range(self._lines, len(run.index))))
        self._lines = len(run.index)
