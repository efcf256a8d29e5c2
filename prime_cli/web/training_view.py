"""The page of a training: curves, evaluations, rollouts by step, and the verdict."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from prime_cli.core.errors import NotFound, PrimeError
from prime_cli.core.formatting import format_interval, format_number, format_p
from prime_cli.evals.viewer.filters import step_of
from prime_cli.pages.charts import Point
from prime_cli.pages.paging import Room, Window, parse_cursor
from prime_cli.pages.runs import (
    LONGEST_NOTE,
    Fact,
    Link,
    Reins,
    RunFilter,
    some_facts,
)
from prime_cli.pages.templates import Html, Page, format_moment
from prime_cli.pages.texts import shorten
from prime_cli.runs.folder import RunFolder
from prime_cli.runs.manifest import FINISHED
from prime_cli.runs.rows import Row
from prime_cli.runs.statistics.intervals import Interval, precision
from prime_cli.runs.transcript import message_blocks
from prime_cli.training.curves import read_steps
from prime_cli.training.page import draw_training
from prime_cli.training.record import (
    Evaluation,
    TrainingFacts,
    Verdict,
    facts_in,
    folders_of,
)
from prime_cli.training.trainer_events import METRICS
from prime_cli.web.library import Library, run_path, training_path
from prime_cli.web.opened import LocalRun
from prime_cli.web.run_view import end_of

T = TypeVar("T")

_SAMPLES = 24
_SHOWN = 200
_CHARTS = Room(row_bytes=0, bytes=45_000)
"""Beside the chart of rewards and the at most five signs, which a page always has."""
_LISTS = Room(row_bytes=250, bytes=12_000)
_LINKS = Room(bytes=5_000)


class EvaluationLine(NamedTuple):
    """The weights after a step on held-out examples, as text."""

    step: int
    reward: str
    interval: str
    name: str
    path: str
    environment: str


class RolloutLine(NamedTuple):
    """A rollout of a step, and how its completion begins; `of_step` leads to all of that step."""

    step: str
    name: str
    path: str
    reward: str
    text: str
    of_step: str


@dataclass(frozen=True)
class TrainingView:
    """The page of a training; `stream` is the address of events while it goes on."""

    path: str
    title: str
    status: str
    command: str
    facts: Sequence[Fact]
    parameters: Sequence[Fact]
    reward: Html
    signs: Sequence[Html]
    metrics: Window[Html]
    evaluations: Window[EvaluationLine]
    samples: Window[RolloutLine]
    links: Window[Link]
    note: str = ""
    verdict: str = ""
    stream: str | None = None
    reins: Reins | None = None


def render_training(view: TrainingView) -> Page:
    """The page of a training."""
    return Page("training.html", view.title, view, command=(view.command,))


def view_training(
    library: Library, name: str, query: Mapping[str, str] = MappingProxyType({})
) -> TrainingView:
    """The page of the training that an address calls `name`; raises NotFound, UsageError.

    `query` has the cursors of its lists.
    """
    run = library.find(name)
    manifest = run.saved.manifest
    facts = None if manifest is None else facts_in(manifest)
    if manifest is None or facts is None:
        raise NotFound(f"{run.run_id} is not a training", hint="list them with `prime train list`")
    steps = read_steps(run.path / METRICS, facts.step)
    folders = [(run.path / each.path).resolve() for each in facts.evaluations]
    found = zip(facts.evaluations, folders, library.names_of(folders), strict=True)
    points = [_Evaluated(each, library, folder, name) for each, folder, name in found]
    charts = draw_training(steps, _by_environment(points))
    path = training_path(name)

    def some(room: Room, part: str, rows: Sequence[T]) -> Window[T]:
        return room.window(rows, parse_cursor(query, part), path, part)

    environments = ", ".join(facts.environments) or manifest.plan.environment.title
    return TrainingView(
        path=path,
        title=shorten(f"{environments} with {facts.plan.model}", LONGEST_NOTE),
        status=run.status,
        command=f"prime train show {run.run_id}",
        facts=list(_facts(run, facts)),
        parameters=list(some_facts(iter((("Folder", str(run.path)), *facts.plan.lines())))),
        note=shorten(end_of(run), LONGEST_NOTE),
        verdict=facts.verdict.sentence if facts.verdict is not None else "",
        reward=Html(charts.reward),
        signs=[*map(Html, charts.signs)],
        metrics=some(_CHARTS, "metrics", [*map(Html, charts.others)]),
        evaluations=some(_LISTS, "evaluations", [each.line() for each in points]),
        samples=some(_LISTS, "samples", list(_samples(run, name))),
        links=some(_LINKS, "links", list(_links(library, run, facts, name))),
        stream=f"{path}/events?known={len(run.index)}" if run.is_live else None,
    )


def _links(library: Library, run: LocalRun, facts: TrainingFacts, name: str) -> Iterator[Link]:
    if not facts.environments:
        yield Link("All its rollouts", run_path(name))
        return
    folders = [each.path for each in folders_of(RunFolder(run.path), facts.environments)]
    names = [name, *library.names_of([path.resolve() for path in folders[1:]])]
    for environment, own in zip(facts.environments, names, strict=True):
        yield Link(f"All rollouts of {environment}", run_path(own))


class _Evaluated:
    """An evaluation during a training, and its run where that is still there."""

    def __init__(self, each: Evaluation, library: Library, folder: Path, name: str) -> None:
        self.each = each
        self.name, self.path = "", ""
        self.interval: Interval | None = None
        try:
            run = library.open(folder).now()
        except PrimeError:
            return  # its folder was removed; the reward is in the training's own file
        self.name, self.path = name, run_path(name)
        self.interval = precision(run.by_example()).interval

    def line(self) -> EvaluationLine:
        reward, interval = self.each.reward, self.interval
        return EvaluationLine(
            self.each.step,
            format_number(reward, "none"),
            "" if interval is None else format_interval((interval.low, interval.high)),
            self.name or Path(self.each.path).name,
            self.path,
            self.each.environment or "",
        )

    def point(self) -> Point | None:
        reward, interval = self.each.reward, self.interval
        if reward is None:
            return None
        if interval is None:
            return Point(self.each.step, reward)
        return Point(self.each.step, reward, interval.low, interval.high)


def _by_environment(found: Sequence[_Evaluated]) -> dict[str, list[Point]]:
    points: dict[str, list[Point]] = {}
    for each in found:
        point = each.point()
        if point is not None:
            points.setdefault(each.each.environment or "", []).append(point)
    return points


def _facts(run: LocalRun, facts: TrainingFacts) -> Iterator[Fact]:
    yield Fact("Steps", f"{facts.step} of {facts.plan.steps}")
    yield Fact("Rollouts", f"{len(run.index):,}")
    if facts.verdict is not None:
        yield from _verdict_facts(facts.verdict)
    manifest = run.saved.manifest
    if manifest is not None:
        yield Fact("Started", format_moment(manifest.started))
        if manifest.failure and run.status == FINISHED:
            yield Fact("Ended by", shorten(manifest.failure, LONGEST_NOTE))


def _verdict_facts(verdict: Verdict) -> Iterator[Fact]:
    yield Fact("Untrained", format_number(verdict.before))
    yield Fact("Trained", format_number(verdict.after))
    yield Fact("Difference", verdict.difference_words)
    yield Fact("p", format_p(verdict.p))


def _samples(run: LocalRun, name: str) -> Iterator[RolloutLine]:
    """Rollouts spread evenly over the journal, which is in the order of the steps."""
    count = len(run.index)
    lines = sorted({place * (count - 1) // (_SAMPLES - 1) for place in range(_SAMPLES)})
    for row in run.index.read(lines if count else []):
        position = f"{row.example_id}.{row.rollout}"
        number = step_of(row)
        step = "" if number is None else str(number).removesuffix(".0")
        yield RolloutLine(
            step,
            position,
            f"{run_path(name)}/rollouts/{position}",
            format_number(row.reward, "error"),
            _beginning(row),
            f"{run_path(name)}{RunFilter(step=step).query()}#rollouts" if step else "",
        )


def _beginning(row: Row) -> str:
    text = " ".join(text for _, text in message_blocks(row.completion))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
