"""An open run, which may still be running, and the page of one of its rollouts."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import RLock
from typing import Any

from prime_cli.core.formatting import format_number, pluralize
from prime_cli.evals.viewer.filters import Filter, Search, has_steps
from prime_cli.evals.viewer.grid import Grid, Layout
from prime_cli.models.prices import format_cost
from prime_cli.runs.manifest import RUNNING
from prime_cli.runs.rows import Failure, Row
from prime_cli.runs.run_index import RunIndex
from prime_cli.runs.saved_run import SavedRun, official_date
from prime_cli.runs.spending import spend_of
from prime_cli.runs.transcript import as_text, message_blocks, metric_text

FACT, TURN, CALL, ERROR = "fact", "turn", "call", "error"
_CALLS = " calls"
_MONEY = ("cost", "known_cost", "unpriced")


@dataclass(frozen=True)
class PageBlock:
    """A label and its text, which may have many lines.

    `kind` is `fact` (a line about the rollout), `turn` (a message), `call` (of a tool) or `error`.
    """

    kind: str
    label: str
    text: str


@dataclass(frozen=True)
class RolloutView:
    """One rollout: its title, its blocks, and the number of its line."""

    title: str
    blocks: list[PageBlock]
    number: int


def page_of(row: Row, number: int) -> RolloutView:
    """The page of `row`, which is line `number`: facts first, then the conversation."""
    facts = [PageBlock(FACT, label, text) for label, text in _row_facts(row)]
    error = list(_error_blocks(row.error)) if row.error else []
    turns = [*_turns("prompt", row.prompt), *_turns("completion", row.completion)]
    rest = [
        PageBlock(FACT, label, as_text(value))
        for label, value in (("answer", row.answer), ("info", row.info), *row.state.items())
        if value not in (None, "", {}, [])
    ]
    title = f"example {row.example_id}, rollout {row.rollout}"
    again = f", attempt {row.attempt}" if row.attempt > 1 else ""
    return RolloutView(title + again, [*facts, *error, *turns, *rest], number)


def _row_facts(row: Row) -> Iterator[tuple[str, str]]:
    yield "reward", format_number(row.reward, "none")
    for name, value in row.metrics.items():
        yield f"  {name}", metric_text(value)
    ended = [row.stop_condition or "", "cut short by a token limit" if row.is_truncated else ""]
    if any(ended):
        yield "ended by", ", ".join(part for part in ended if part)
    if row.timing:
        yield "seconds", _join_pairs(row.timing)
    if row.usage:
        yield (
            "tokens",
            _join_pairs({name: row.usage[name] for name in row.usage if name not in _MONEY}),
        )
    if row.usage and "cost" in row.usage:
        yield "cost", format_cost(spend_of(row.usage))
    if row.task not in (None, "", {}):
        yield "task", as_text(row.task)


def _join_pairs(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {metric_text(value)}" for name, value in values.items())


def _error_blocks(failure: Failure) -> Iterator[PageBlock]:
    again = " (may be tried again)" if failure.retryable else ""
    told = f"{failure.type}: {failure.message}"
    yield PageBlock(ERROR, f"{failure.kind} error{again}", told)
    if failure.traceback:
        yield PageBlock(ERROR, "traceback", failure.traceback)


def _turns(part: str, messages: Any) -> Iterator[PageBlock]:
    for label, text in message_blocks(messages):
        kind = CALL if label.endswith(_CALLS) else TURN
        yield PageBlock(kind, part if label == "text" else label, text)


_SLICE = 0.1
"""Seconds of searching between two updates."""


@dataclass(frozen=True)
class SearchResult:
    """What a filter has found so far, of `total` rollouts; `lines` are the run's results then."""

    grid: Grid
    searched: int
    total: int
    lines: tuple[str, ...]

    @property
    def is_done(self) -> bool:
        return self.searched >= self.total


class OpenedRun:
    """The rollouts of one run under one filter. May be used by several threads."""

    def __init__(self, saved: SavedRun) -> None:
        self.path = saved.folder.path
        self._saved, self._index = saved, saved.index
        self._lock = RLock()
        self._layout = Layout.of(self._index)
        self._search = Search(Filter())
        self._facts = _facts(_about(saved), self._index)
        self._shown: tuple[tuple[Layout, Search, int], Grid] | None = None
        self._has_steps = has_steps(self._index)

    @property
    def name(self) -> str:
        """The run's id."""
        return self.path.name

    @property
    def title(self) -> str:
        """Environment and model."""
        return self._facts.about.title

    @property
    def lines(self) -> tuple[str, ...]:
        """The run's results in a few short lines."""
        return self._facts.lines

    @property
    def is_live(self) -> bool:
        """Whether more rollouts may come."""
        return self._facts.about.status == RUNNING

    @property
    def has_steps(self) -> bool:
        """Whether these are the rollouts of a training."""
        return self._has_steps

    def filter(self, *, step: str = "", reward: str = "", only: str = "", text: str = "") -> None:
        """Set the filter; raises UsageError and keeps the previous one."""
        # Not under the lock: whoever asks must not wait for a search that goes on.
        self._search = Search(Filter(reward, only, text, step))

    def refresh(self) -> bool:
        """Read what was written since; returns whether there was anything. Raises UsageError."""
        with self._lock:
            self._saved, before = self._saved.renewed(), self._index
            about, self._index = _about(self._saved), self._saved.index
            if self._index is not before:
                self._layout = Layout.of(self._index)
                if not len(before):  # the first rollout tells
                    self._has_steps = has_steps(self._index)
            elif about == self._facts.about:
                return False
            self._facts = _facts(about, self._index)
            return True

    def advance(self) -> SearchResult:
        """Search for a moment; returns the result so far. Raises UsageError, StorageFailed."""
        with self._lock:
            search = self._search
            search.advance(self._index, _SLICE)
            grid, lines = self._grid(search), self._facts.lines
            return SearchResult(grid, search.searched, len(self._index), lines)

    def _grid(self, search: Search) -> Grid:
        """The matching rollouts, rebuilt only if there are more."""
        key = (self._layout, search, search.count)
        if self._shown is None or self._shown[0] != key:
            only = search.is_of_steps
            self._shown = key, Grid(self._layout, search.found(self._layout), only_matches=only)
        return self._shown[1]

    def page(self, number: int) -> RolloutView:
        """The rollout of line `number`; raises UsageError, StorageFailed."""
        return page_of(self._index.read_row(number), number)

    def page_at(self, example_id: int, rollout: int) -> RolloutView | None:
        """The same by example and rollout; None if the run has no such rollout."""
        number = self._index.find(example_id, rollout)
        return None if number is None else self.page(number)

    def grid(self) -> Grid:
        """All its rollouts, without the filter."""
        return Grid(self._layout)


@dataclass(frozen=True)
class _About:
    title: str
    status: str
    planned: int | None
    date: str


@dataclass(frozen=True)
class _Facts:
    about: _About
    lines: tuple[str, ...]


def _facts(about: _About, index: RunIndex) -> _Facts:
    endings = index.entries.endings(index.latest)
    truncated = sum(count for (_, cut), count in endings.items() if cut)
    errors = Counter[str]()
    for (kind, _), count in endings.items():
        if kind is not None:
            errors[kind] += count
    rewards = index.rewards()
    planned = about.planned
    finished = len(index.latest)
    of = f"{finished:,} of " if planned else ""
    examples = len(set(index.entries.examples(index.latest)))
    counts = [of + pluralize(planned or finished, "rollout"), pluralize(examples, "example")]
    if errors:
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in errors.most_common())
        counts.append(f"{pluralize(sum(errors.values()), 'error')} ({kinds})")
    if truncated:
        counts.append(f"{truncated:,} truncated")
    first = (_reward(rewards, sum(errors.values())), about.status, about.date)
    return _Facts(about, (" · ".join(first), " · ".join(counts)))


def _reward(rewards: Sequence[float], errored: int) -> str:
    if not rewards:
        return "no reward yet"
    means = (math.fsum(rewards) / count for count in (len(rewards), len(rewards) + errored))
    told, counted = map(format_number, means)
    return f"reward {told}" + (f" ({counted} with errors as 0)" if errored else "")


def _about(saved: SavedRun) -> _About:
    manifest = saved.manifest
    if manifest is not None:
        plan = manifest.plan
        title = f"{plan.environment.title} with {plan.model}"
        return _About(title, saved.status, manifest.planned, _minute(manifest.started))
    metadata = saved.official or {}
    environment = metadata.get("env_id") or metadata.get("env") or "?"
    title = f"{environment} with {metadata.get('model', '?')}"
    return _About(title, "finished", None, _minute(official_date(saved.folder, metadata)))


def _minute(moment: str) -> str:
    return moment[:16].replace("T", " ")
