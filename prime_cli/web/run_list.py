"""The list of local runs and trainings."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlencode

from prime_cli.pages.templates import Page
from prime_cli.runs.folder import RunFolder
from prime_cli.runs.listing import RunItem
from prime_cli.runs.saved_run import status_of
from prime_cli.training.record import SavedTraining
from prime_cli.web.library import Library
from prime_cli.web.run_view import run_path

_LINES = 100


class RunLine(NamedTuple):
    """A run as text."""

    name: str
    path: str
    environment: str
    model: str
    size: str
    reward: str
    errors: str
    status: str
    date: str


class TrainingLine(NamedTuple):
    """A training as text."""

    name: str
    path: str
    environment: str
    model: str
    steps: str
    verdict: str
    status: str
    date: str


@dataclass(frozen=True)
class RunsView:
    """A page of the list; `filter` is what was searched for."""

    runs: Sequence[RunLine]
    trainings: Sequence[TrainingLine]
    filter: str = ""
    previous: str | None = None
    next: str | None = None


def render_runs(view: RunsView) -> Page:
    """The page of the list."""
    command = ("prime eval list",) + (("prime train list",) if view.trainings else ())
    return Page("runs.html", "Runs on this machine", view, command)


def view_runs(library: Library, text: str, page: int) -> RunsView:
    """The runs and trainings that have every word of `text`, newest first."""
    words = text.casefold().split()
    found = [item for item in library.items() if _has(_words_of(item), words)]
    trainings = (_training_line(each) for each in library.trainings())
    pages = max(1, -(-len(found) // _LINES))
    page = min(max(page, 1), pages)
    shown = found[(page - 1) * _LINES : page * _LINES]
    names = library.names_of([Path(item.path) for item in shown])
    return RunsView(
        runs=[_run_line(name, item) for name, item in zip(names, shown, strict=True)],
        trainings=list(islice((each for each in trainings if _has(each, words)), _LINES)),
        filter=text,
        previous=_page_path(text, page - 1) if page > 1 else None,
        next=_page_path(text, page + 1) if page < pages else None,
    )


def _words_of(item: RunItem) -> tuple[str, ...]:
    return (item.run_id, item.environment, item.model, item.status, item.note or "", *item.tags)


def _has(fields: Sequence[str], words: Sequence[str]) -> bool:
    whole = " ".join(fields).casefold()
    return all(word in whole for word in words)


def _page_path(text: str, page: int) -> str:
    return "/runs?" + urlencode({"text": text, "page": page})


def _run_line(name: str, item: RunItem) -> RunLine:
    return RunLine(
        name=name,
        path=run_path(name),
        environment=item.environment,
        model=item.model,
        size=f"{item.num_examples or '?'} x {item.rollouts_per_example or '?'}",
        reward="" if item.reward is None else f"{item.reward:.3f}",
        errors="" if item.errors is None else f"{item.errors:.0%}",
        status=item.status,
        date=item.date[:16].replace("T", " "),
    )


def _training_line(each: SavedTraining) -> TrainingLine:
    manifest, facts = each.manifest, each.facts
    return TrainingLine(
        name=manifest.run_id,
        path=f"/trainings/{quote(manifest.run_id)}",
        environment=manifest.plan.environment.title,
        model=manifest.plan.model,
        steps=f"{facts.step} of {facts.plan.steps}",
        verdict="" if facts.verdict is None else facts.verdict.verdict,
        status=status_of(RunFolder(each.folder), manifest),
        date=manifest.started[:16].replace("T", " "),
    )
