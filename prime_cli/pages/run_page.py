"""The page of a run: its head, and its examples as a table, of which one is open in its place."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import fsum, isnan
from typing import Any, NamedTuple, Protocol

from prime_cli.core.formatting import format_number
from prime_cli.pages.links import page_number
from prime_cli.pages.messages import said_in
from prime_cli.pages.paging import Window
from prime_cli.pages.rollout import RolloutContent, RolloutSample
from prime_cli.pages.runs import (
    EVERYTHING,
    Cell,
    ErrorLine,
    Fact,
    Link,
    MetricLine,
    Reins,
    RewardRange,
    RunFilter,
)
from prime_cli.pages.templates import Html, Page
from prime_cli.pages.texts import cut, shorten
from prime_cli.runs.outcomes import ORDERS, OUTCOMES, RolloutColumns
from prime_cli.runs.transcript import as_text

_TABLE_BYTES = 58_000
_LINE_BYTES = 800
"""Of a row besides its links: markup and texts."""
_DOT_BYTES = 110
_MOST_LINES, _MOST_DOTS = 50, 12
_STRIP_BYTES, _MOST_SQUARES = 8_000, 48
_PROMPT_BYTES, _EXPECTED_BYTES, _SAID_BYTES = 140, 60, 120
_LONGEST_NAME = 60


class ExampleTexts(NamedTuple):
    """The beginning of a task and of the expected answer, and the end of what was said.

    What was said is the error where there is one.
    """

    prompt: str = ""
    expected: str = ""
    said: str = ""
    is_error: bool = False


class ExampleSource(Protocol):
    """The rollouts of a run at their places in `columns`; `folder` has their pages."""

    columns: RolloutColumns
    folder: str

    def name(self, row: int) -> str:
        """The example in a row."""
        ...

    def key(self, place: int) -> str:
        """What names a rollout in addresses, in `folder` too."""
        ...

    def label(self, place: int) -> str:
        """What a reader calls a rollout of an example."""
        ...

    def find(self, key: str) -> int | None:
        """The place of a key; None for none."""
        ...

    def read(self, places: Sequence[int]) -> Sequence[ExampleTexts]:
        """The texts of these rollouts, as far as there is time to read them."""
        ...

    def view(self, place: int, share: int) -> RolloutContent:
        """All of a rollout, on a page that so many share."""
        ...


class ChoiceLink(NamedTuple):
    """One of several links; `kind` is a CSS class, `note` what it means."""

    label: str
    path: str
    is_here: bool
    note: str = ""
    kind: str = ""


class OpenedSide(NamedTuple):
    """A rollout of the open example, and links to the others in its place."""

    choices: Sequence[ChoiceLink]
    content: RolloutContent


class ListedExample(NamedTuple):
    """An example: its texts are of the matching rollout with the lowest reward.

    `path` opens or closes it, and `more` is how many rollouts have no dot. `row` names the line
    within the page.
    """

    row: int
    name: str
    path: str
    texts: ExampleTexts
    mean: str
    dots: Sequence[Cell]
    more: int = 0
    sides: Sequence[OpenedSide] = ()


@dataclass(frozen=True)
class ExampleTable:
    """A page of the examples; `strip` leads to all of them, `chips` and `orders` to others."""

    lines: Sequence[ListedExample] = ()
    strip: Sequence[Cell] = ()
    chips: Sequence[ChoiceLink] = ()
    orders: Sequence[ChoiceLink] = ()
    previous: str | None = None
    next: str | None = None
    here: str = ""

    @property
    def is_open(self) -> bool:
        """Whether an example is open, which takes the room of all else."""
        return any(line.sides for line in self.lines)


class Wanted(NamedTuple):
    """What an address asks for: a filter, a page from 1, and the keys of one or two rollouts."""

    filter: RunFilter = EVERYTHING
    page: int = 1
    opened: str = ""
    beside: str = ""

    @classmethod
    def read(cls, filters: RunFilter, query: Mapping[str, str]) -> "Wanted":
        """That in an address."""
        return cls(filters, page_number(query), query.get("open", ""), query.get("beside", ""))


def list_examples(
    source: ExampleSource, matching: Sequence[int] | None, wanted: Wanted, path: str
) -> ExampleTable:
    """The examples with a rollout at one of the `matching` places, or all of them for None."""
    columns, filters = source.columns, wanted.filter
    rows: Sequence[int] = columns.rows
    if matching is not None:
        rows = list(dict.fromkeys(map(columns.row_of, matching)))
    rows = columns.order(rows, filters.sort)
    address = partial(_address, path, filters)
    dots = min(max((len(columns.places(row)) for row in rows), default=0), _MOST_DOTS)
    size = _LINE_BYTES + len(address()) + dots * (_DOT_BYTES + len(source.folder))
    size = max(1, min(_MOST_LINES, _TABLE_BYTES // size))
    pages = max(1, -(-len(rows) // size))
    opened = source.find(wanted.opened) if wanted.opened else None
    page = min(wanted.page, pages)
    if opened is not None and (row := columns.row_of(opened)) in rows:
        page = rows.index(row) // size + 1
    here = address(page=page if page > 1 else None)
    lines = _Lines(source, wanted, address, here, opened, set(matching or ()))
    return ExampleTable(
        lines=lines.of(rows[(page - 1) * size : page * size]),
        strip=list(_strip(source, rows, address, size, page)),
        chips=list(_chips(path, filters)),
        orders=list(_orders(path, filters)),
        previous=address(page=min(wanted.page - 1, pages)) if wanted.page > 1 else None,
        next=address(page=page + 1) if page < pages else None,
        here=here,
    )


def _address(path: str, filters: RunFilter, **more: object) -> str:
    return path + filters.query(**more)


class _Lines:
    """Makes the lines of a page."""

    def __init__(
        self,
        source: ExampleSource,
        wanted: Wanted,
        address: Any,
        here: str,
        opened: int | None,
        matching: set[int],
    ) -> None:
        self._source, self._wanted, self._address, self._here = source, wanted, address, here
        self._opened, self._matching = opened, matching
        self._scale = RewardRange.of(source.columns.span)

    def of(self, rows: Sequence[int]) -> list[ListedExample]:
        columns = self._source.columns
        places = [self._matched(columns.places(row)) for row in rows]
        texts = self._source.read(places)
        return [self._line(*each) for each in zip(rows, places, texts, strict=True)]

    def _matched(self, places: range) -> int:
        columns = self._source.columns
        return columns.lowest([at for at in places if at in self._matching] or places)

    def _line(self, row: int, place: int, texts: ExampleTexts) -> ListedExample:
        columns, source = self._source.columns, self._source
        places = columns.places(row)
        is_open = self._opened is not None and self._opened in places
        return ListedExample(
            row=row,
            name=shorten(source.name(row), _LONGEST_NAME),
            path=f"{self._here}#e{row}"
            if is_open
            else f"{self._address(open=source.key(place))}#open",
            texts=texts,
            mean=format_number(columns.means[row]),
            dots=[self._dot(at) for at in places[:_MOST_DOTS]],
            more=max(len(places) - _MOST_DOTS, 0),
            sides=self._sides(self._opened) if is_open and self._opened is not None else (),
        )

    def _dot(self, place: int) -> Cell:
        source, columns = self._source, self._source.columns
        reward = None if isnan(columns.rewards[place]) else columns.rewards[place]
        path = f"{source.folder}{source.key(place)}"
        kept = not self._matching or place in self._matching
        dot = self._scale.cell(reward, "error", path, is_truncated=columns.truncated[place])
        label = f"{source.label(place)}: {dot.label}{', ' + dot.note if dot.note else ''}"
        return dot._replace(label=label, kind=dot.kind if kept else f"{dot.kind} other")

    def _sides(self, place: int) -> list[OpenedSide]:
        columns, key = self._source.columns, self._source.key
        beside = self._source.find(self._wanted.beside) if self._wanted.beside else None
        if beside is None or beside not in columns.places(columns.row_of(place)):
            beside = columns.contrast(place)
        if beside is None:
            return [OpenedSide((), self._source.view(place, 2))]
        pairs = ((place, {"beside": key(beside)}, "open"), (beside, {"open": key(place)}, "beside"))
        return [
            OpenedSide(list(self._choices(at, kept, name)), self._source.view(at, 4))
            for at, kept, name in pairs
        ]

    def _choices(self, here: int, kept: dict[str, str], name: str) -> Iterator[ChoiceLink]:
        columns = self._source.columns
        for place in columns.places(columns.row_of(here))[:_MOST_DOTS]:
            dot = self._dot(place)
            path = self._address(**kept, **{name: self._source.key(place)})
            yield ChoiceLink(dot.label, f"{path}#open", place == here, kind=dot.kind)


def _strip(
    source: ExampleSource, rows: Sequence[int], address: Any, size: int, page: int
) -> Iterator[Cell]:
    """A square for each example, or for as many of them as there is room for squares."""
    columns = source.columns
    squares = max(1, min(_MOST_SQUARES, _STRIP_BYTES // (150 + len(address()))))
    each = -(-len(rows) // squares) or 1
    means = [columns.means[row] for row in rows]
    scale = RewardRange.of(mean for mean in means if mean is not None)
    for start in range(0, len(rows), each):
        part = rows[start : start + each]
        scored = [mean for mean in means[start : start + each] if mean is not None]
        names = [shorten(source.name(row), _LONGEST_NAME) for row in (part[0], part[-1])]
        words = f"Example {names[0]}" if len(part) == 1 else f"Examples {' to '.join(names)}"
        there = start // size + 1
        path = f"{'' if there == page else address(page=there)}#e{part[0]}"
        square = scale.cell(fsum(scored) / len(scored) if scored else None, "error", path)
        yield square._replace(label=f"{words}: {square.label}")


def _chips(path: str, filters: RunFilter) -> Iterator[ChoiceLink]:
    yield ChoiceLink("all", f"{path}{filters.query(only='')}#rollouts", not filters.only)
    for word, note in OUTCOMES.items():
        yield ChoiceLink(
            word, f"{path}{filters.query(only=word)}#rollouts", filters.only == word, note
        )


def _orders(path: str, filters: RunFilter) -> Iterator[ChoiceLink]:
    for word, label in ORDERS.items():
        yield ChoiceLink(label, f"{path}{filters.query(sort=word)}#rollouts", filters.sort == word)


# --- Texts of a row ---


def texts_of(sample: RolloutSample) -> ExampleTexts:
    """What the row of a rollout's example says."""
    asked = _first(sample.prompt, "user")
    expected = _line_of(sample.answer, _EXPECTED_BYTES)
    if sample.error is not None:
        error = _line_of(": ".join(sample.error), _SAID_BYTES)
        return ExampleTexts(_line_of(asked, _PROMPT_BYTES), expected, error, is_error=True)
    messages = sample.completion if isinstance(sample.completion, list) else [sample.completion]
    said = next((text for each in reversed(messages) if (text := said_in(each))), "")
    return ExampleTexts(_line_of(asked, _PROMPT_BYTES), expected, _end_of(said, _SAID_BYTES))


def _first(prompt: Any, role: str) -> Any:
    """What the first message of a role says, or else the first of all."""
    messages = prompt if isinstance(prompt, list) else [prompt]
    of_role = (each for each in messages if isinstance(each, dict) and each.get("role") == role)
    return said_in(next(of_role, messages[0] if messages else None))


_LOOKED_AT = 2_000
"""Characters of a text that a row may show."""


def _line_of(value: Any, most: int) -> str:
    """The beginning of a value in one line."""
    text = "" if value is None else " ".join(as_text(value)[:_LOOKED_AT].split())
    begin = cut(text, most)
    return begin if len(begin) == len(text) else f"{begin}…"


def _end_of(value: Any, most: int) -> str:
    """The end of a value in one line: where an answer is."""
    text = " ".join(as_text(value)[-_LOOKED_AT:].split())
    end = cut(text[::-1], most)[::-1]
    return end if len(end) == len(text) else f"…{end}"


# --- The page ---

NO_CHARTS: Window[Html] = Window(())
NO_METRICS: Window[MetricLine] = Window(())
NO_ERRORS: Window[ErrorLine] = Window(())


@dataclass(frozen=True)
class RunView:
    """The page of a run.

    `found` says how many rollouts the filter matched; `has_steps` that they are of a training.
    `stream` is the address of server-sent events while the run goes on, which its `reins` steer
    where that is possible; of its rollouts `done` have finished, of `planned` if that is known.
    `trust` says how far the judges of its rewards can be trusted.
    """

    path: str
    title: str
    status: str
    command: str
    facts: Sequence[Fact]
    parameters: Sequence[Fact]
    notes: Sequence[str] = ()
    charts: Window[Html] = NO_CHARTS
    metrics: Window[MetricLine] = NO_METRICS
    errors: Window[ErrorLine] = NO_ERRORS
    filter: RunFilter = EVERYTHING
    has_steps: bool = False
    problem: str = ""
    found: str = ""
    table: ExampleTable = ExampleTable()
    downloads: Iterable[Link] = ()
    stream: str | None = None
    done: int = 0
    planned: int | None = None
    about: Sequence[Fact] = ()
    others: Sequence[Link] = ()
    reins: Reins | None = None
    trust: Sequence[str] = ()


def render_run(run: RunView) -> Page:
    """The page of a run."""
    return Page("run.html", run.title, run, command=(run.command,) if run.command else ())
