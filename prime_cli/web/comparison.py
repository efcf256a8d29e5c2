"""Two to four runs beside each other: the statistics of `prime eval compare`, flips first."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlencode

from prime_cli.core.errors import PrimeError, UsageError
from prime_cli.pages.runs import EMPTY, Cell, Link, RolloutView, Scale
from prime_cli.pages.templates import Page
from prime_cli.runs.comparison.compare import (
    CompareOptions,
    Comparison,
    compare_all,
    detectable_words,
    require_statistics,
)
from prime_cli.runs.comparison.sides import Side, side_of
from prime_cli.web.library import Library, problem_of
from prime_cli.web.opened import LocalRun
from prime_cli.web.run_view import model_of, run_path, view_local_rollout

_BESIDE = 2
_MOST = 4
_LINES = 100
_SAME = 1e-9


class ComparedRun(NamedTuple):
    """A run beside others: what it is called, of which model, and where its page is."""

    name: str
    model: str
    path: str


class VerdictLine(NamedTuple):
    """A run against the first, as text."""

    name: str
    model: str
    mean: str
    first: str
    difference: str
    interval: str
    p: str
    verdict: str
    sentence: str
    notes: Sequence[str]


class ExampleLine(NamedTuple):
    """The mean rewards of an example in each run; `path` leads to its rollouts side by side."""

    example: str
    path: str
    cells: Sequence[Cell]


@dataclass(frozen=True)
class ComparisonView:
    """The page of a comparison."""

    runs: Sequence[ComparedRun] = ()
    command: str = ""
    problem: str = ""
    verdicts: Sequence[VerdictLine] = ()
    changed: str = ""
    lines: Sequence[ExampleLine] = ()
    previous: str | None = None
    next: str | None = None


@dataclass(frozen=True)
class SidesView:
    """One rollout of an example in each run, None for runs without it."""

    example: int
    rollout: int
    command: str
    back: str
    sides: Sequence[tuple[ComparedRun, RolloutView | None]]
    others: Sequence[Link]


def render_comparison(view: ComparisonView) -> Page:
    """The page of a comparison."""
    command = view.command or "prime eval compare RUN RUN"
    return Page("compare.html", "Compare runs", view, command=(command,))


def render_sides(view: SidesView) -> Page:
    """The page of rollouts side by side."""
    title = f"Example {view.example}, rollout {view.rollout}"
    return Page("sides.html", title, view, command=(view.command,))


def view_comparison(library: Library, names: Sequence[str], page: int) -> ComparisonView:
    """Each run against the first.

    Runs that cannot be compared, or no scipy, are a sentence on the page. Raises NotFound.
    """
    names = list(dict.fromkeys(names))
    if not 1 < len(names) <= _MOST:
        problem = "Choose two to four runs" if names else ""
        return ComparisonView(problem=problem)
    runs = [library.find(name) for name in names]
    sides = [side_of(run.saved) for run in runs]
    compared = _compared(names, runs)
    problem, verdicts = "", []
    try:
        require_statistics()
        couples = [(sides[0], side) for side in sides[1:]]
        found = compare_all(couples, CompareOptions())
        models = [each.model for each in compared[1:]]
        verdicts = [_verdict(*each) for each in zip(found, models, strict=True)]
    except PrimeError as error:
        problem = problem_of(error)
    ordered, flips = _ordered(sides)
    pages = max(1, -(-len(ordered) // _LINES))
    page = min(max(page, 1), pages)
    shown = ordered[(page - 1) * _LINES : page * _LINES]
    return ComparisonView(
        runs=compared,
        command=shlex.join(["prime", "eval", "compare", *(run.run_id for run in runs)]),
        problem=problem,
        verdicts=verdicts,
        changed=f"{flips:,} of {len(ordered):,} examples have a different mean reward",
        lines=[_line(example, sides, names) for example in shown],
        previous=_path(names, page=page - 1) if page > 1 else None,
        next=_path(names, page=page + 1) if page < pages else None,
    )


def _path(names: Sequence[str], position: str = "", **more: object) -> str:
    query = urlencode([*(("run", name) for name in names), *more.items()])
    return f"/compare{'/' if position else ''}{position}?{query}"


def _compared(names: Sequence[str], runs: Sequence[LocalRun]) -> list[ComparedRun]:
    pairs = zip(names, runs, strict=True)
    return [ComparedRun(name, model_of(run), run_path(name)) for name, run in pairs]


def _verdict(each: Comparison, model: str) -> VerdictLine:
    interval = (
        "" if each.interval is None else f"{each.interval[0]:+.3f} to {each.interval[1]:+.3f}"
    )
    notes = [*each.notes, detectable_words(each)]
    if each.disagreement is not None:
        notes.insert(0, each.disagreement)
    return VerdictLine(
        name=each.other.name,
        model=model,
        mean=f"{each.other.mean:.3f}",
        first=f"{each.first.mean:.3f}",
        difference=f"{each.difference:+.3f}",
        interval=interval,
        p=f"{each.p_adjusted:.3g}",
        verdict=each.verdict,
        sentence=each.sentence,
        notes=notes,
    )


def _ordered(sides: Sequence[Side]) -> tuple[list[int], int]:
    """All examples, those that changed most against the first run first; how many changed."""
    found = {}
    for example in sorted({example for side in sides for example in side.examples}):
        means = [_mean(side, example) for side in sides]
        changes = [
            abs(mean - means[0]) for mean in means[1:] if mean is not None and means[0] is not None
        ]
        found[example] = max(changes, default=0.0)
    ordered = sorted(found, key=lambda example: -found[example])
    return ordered, sum(change > _SAME for change in found.values())


def _mean(side: Side, example: int) -> float | None:
    known = side.examples.get(example)
    return None if known is None else known.mean(errors_as_zero=False)


def _line(example: int, sides: Sequence[Side], names: Sequence[str]) -> ExampleLine:
    scale = Scale.of(mean for side in sides if (mean := _mean(side, example)) is not None)
    cells = [
        EMPTY if example not in side.examples else scale.cell(_mean(side, example), "error", "")
        for side in sides
    ]
    return ExampleLine(str(example), _path(names, f"{example}.0"), cells)


def view_sides(library: Library, names: Sequence[str], example: int, rollout: int) -> SidesView:
    """The rollouts of an example in each run; raises NotFound, UsageError."""
    names = list(dict.fromkeys(names))
    if not 1 < len(names) <= _MOST:
        raise UsageError("Choose two to four runs", hint="in the list of runs")
    runs = [library.find(name) for name in names]
    numbers = sorted({number for run in runs for number in _rollouts(run, example)})
    return SidesView(
        example=example,
        rollout=rollout,
        command=_view_command([run.run_id for run in runs]),
        back=_path(names),
        sides=[
            (
                each,
                None
                if run.index.find(example, rollout) is None
                else view_local_rollout(run, each.name, example, rollout),
            )
            for each, run in zip(_compared(names, runs), runs, strict=True)
        ],
        others=[Link(str(number), _path(names, f"{example}.{number}")) for number in numbers],
    )


def _view_command(runs: Sequence[str]) -> str:
    """The viewer shows two runs beside each other, and more only in a browser."""
    web = ["--web"] if len(runs) > _BESIDE else []
    return shlex.join(["prime", "eval", "view", *runs, *web])


def _rollouts(run: LocalRun, example: int) -> list[int]:
    grid = run.grid()
    index = grid.index_of(example)
    if index >= len(grid) or grid.example_at(index) != example:
        return []
    return [cell.rollout for cell in grid.row(index).cells]
