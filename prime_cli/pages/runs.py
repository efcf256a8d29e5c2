"""Parts of the pages of runs, which both a local run and a hub's evaluation become."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple
from urllib.parse import urlencode

from prime_cli.core.formatting import format_number
from prime_cli.pages.charts import draw_histogram
from prime_cli.pages.paging import Room
from prime_cli.pages.templates import Html
from prime_cli.pages.texts import html_bytes, shorten
from prime_cli.runs.export.exports import DOWNLOADS
from prime_cli.runs.statistics.intervals import spread

LEVELS = 5
"""Colours of rewards between the lowest and the highest of a run."""


class Fact(NamedTuple):
    """A labelled text."""

    label: str
    text: str


class Link(NamedTuple):
    """A label, and where it leads, already quoted."""

    label: str
    path: str


class Cell(NamedTuple):
    """A rollout, or an example; `kind` is its CSS class: `r0` to `r4`, `error` or `empty`."""

    label: str
    kind: str
    path: str
    note: str = ""


class MetricLine(NamedTuple):
    """A metric over the rollouts that have it."""

    name: str
    rollouts: str
    mean: str
    std: str
    low: str
    high: str

    @classmethod
    def of(
        cls,
        name: str,
        rollouts: int,
        mean: float | None,
        std: float | None,
        low: float | None,
        high: float | None,
    ) -> "MetricLine":
        """The numbers as text; empty for None."""
        return cls(name, f"{rollouts:,}", *map(format_number, (mean, std, low, high)))


class ErrorLine(NamedTuple):
    """How many rollouts ended in one kind of error."""

    kind: str
    type: str
    rollouts: int
    message: str

    @classmethod
    def of(cls, kind: str, type_: str, rollouts: int, message: str) -> "ErrorLine":
        """The same with texts that have their length where they are cut."""
        shown = shorten(kind, LONGEST_LABEL), shorten(type_, LONGEST_LABEL)
        return cls(*shown, rollouts, shorten(message, _LONGEST_MESSAGE))


@dataclass(frozen=True)
class RunFilter:
    """What the chips and the form above the examples say, as typed, and their order."""

    reward: str = ""
    only: str = ""
    text: str = ""
    step: str = ""
    sort: str = ""

    @classmethod
    def read(cls, query: Mapping[str, str]) -> "RunFilter":
        """That in an address; the form shows what it is narrowed to."""
        given = {name: query.get(name, "")[:_LONGEST_FILTER] for name in cls.__dataclass_fields__}
        if query.get("errors") == "1":  # an address of before there were outcomes
            given["only"] = "errored"
        return cls(**given)

    @property
    def is_set(self) -> bool:
        """Whether it leaves anything out."""
        return any((self.reward, self.only, self.text, self.step))

    def query(self, **others: object) -> str:
        """The query string, with its `?`; empty for no filter."""
        known = {name: value for name, value in (asdict(self) | others).items() if value}
        return f"?{urlencode(known)}" if known else ""


EVERYTHING = RunFilter()
_LONGEST_FILTER = 200


@dataclass(frozen=True)
class Reins:
    """What steers a run that goes on: its state, and the forms that change it.

    `state` is `running`, `paused` or `draining`, or empty where nobody here can steer it, as the
    `problem` says. `has_cap` says that its cost can be limited. The forms carry `form_token`.
    """

    state: str = ""
    facts: Sequence[Fact] = ()
    concurrency: int = 1
    has_cap: bool = True
    form_token: str = ""
    problem: str = ""


def download_links(path: str) -> list[Link]:
    """Every form that the run at `path` can be downloaded in."""
    return [Link(each.label, f"{path}/download.{each.form}") for each in DOWNLOADS.values()]


# --- Parts of both ---

CHARTS = Room(rows=7, row_bytes=0, bytes=26_000)
METRICS = Room(rows=100, row_bytes=180, bytes=13_000)
ERRORS = Room(rows=50, row_bytes=80, bytes=13_000)
LONGEST_NOTE = 1_000
"""Characters of a failure or another note."""
_LONGEST_ERROR = 30
"""Characters of the class of an error in a cell."""


@dataclass(frozen=True)
class RewardRange:
    """The range of a run's rewards, for the colours of its rollouts."""

    low: float = 0.0
    high: float = 1.0

    @classmethod
    def of(cls, rewards: Iterable[float]) -> "RewardRange":
        """From 0 to 1, or further where rewards are outside of that."""
        known = [0.0, 1.0, *rewards]
        return cls(min(known), max(known))

    def cell(
        self, reward: float | None, error: str | None, path: str, *, is_truncated: bool = False
    ) -> Cell:
        """A rollout with this reward, or this class of error."""
        note = "cut short by a token limit" if is_truncated else ""
        if reward is None:
            return Cell(shorten(error or "none", _LONGEST_ERROR), "error", path, note)
        part = (min(max(reward, self.low), self.high) - self.low) / (self.high - self.low)
        return Cell(format_number(reward), f"r{min(int(part * LEVELS), LEVELS - 1)}", path, note)


EMPTY = Cell("", "empty", "")


def metric_lines(metrics: Mapping[str, Sequence[float]]) -> list[MetricLine]:
    """Each metric's statistics."""
    return [
        MetricLine.of(name, len(values), known.mean, known.std, min(values), max(values))
        for name, values in metrics.items()
        if values and (known := spread(values))
    ]


def reward_chart(rewards: Sequence[float]) -> Html:
    """The distribution of the reward."""
    return Html(draw_histogram(rewards, "Reward"))


def metric_charts(metrics: Mapping[str, Sequence[float]]) -> list[Html]:
    """The distributions of the first metrics that differ among rollouts."""
    shown = [(name, values) for name, values in metrics.items() if len(set(values)) > 1]
    return [
        Html(draw_histogram(values, shorten(name, LONGEST_LABEL)))
        for name, values in shown[:_MOST_CHARTS]
    ]


_MOST_CHARTS = 6


NOTHING: tuple[Any, ...] = (None, "", {}, [])
_MOST_FACTS = 200
"""Of one kind on a page, which who pushes decides."""
LONGEST_LABEL = 100
_LONGEST_MESSAGE = 500
_LONGEST_FACT = 300
_FACTS_BYTES = 14_000
_FACT_BYTES = 40


def some_facts(found: Iterator[tuple[str, str]], left: int = _FACTS_BYTES) -> Iterator[Fact]:
    """The first of `found` as facts in about `left` bytes, and how many more there are."""
    for _, (label, text) in zip(range(_MOST_FACTS), found, strict=False):
        fact = Fact(shorten(label, LONGEST_LABEL), shorten(text, _LONGEST_FACT))
        left -= _FACT_BYTES + sum(map(html_bytes, fact))
        yield fact
        if left < 0:
            break
    if more := sum(1 for _ in found):
        yield Fact("More", f"{more:,} are not shown")
