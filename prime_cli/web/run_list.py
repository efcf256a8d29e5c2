"""The list of local runs and trainings."""

import time
import zlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import anyio
from anyio import to_thread

from prime_cli.core.formatting import format_number, format_share, format_size
from prime_cli.pages.events import FIRST_EVENT, STILL_THERE, event
from prime_cli.pages.paging import Room, Window, parse_cursor
from prime_cli.pages.templates import Page
from prime_cli.runs.folder import RunFolder
from prime_cli.runs.listing import RunItem
from prime_cli.runs.saved_run import status_of
from prime_cli.training.record import SavedTraining
from prime_cli.web.library import Library, run_path, training_path

_RUNS = Room(rows=100, row_bytes=350, times=2, bytes=80_000)
_TRAININGS = Room(rows=100, row_bytes=250, bytes=40_000)


class RunRow(NamedTuple):
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
    """A page of the list; `filter` is what was searched for, and `stream` the address of events."""

    runs: Window[RunRow]
    trainings: Window[TrainingLine]
    filter: str = ""
    stream: str = ""


def render_runs(view: RunsView) -> Page:
    """The page of the list."""
    command = ("prime eval list",) + (("prime train list",) if view.trainings.shown else ())
    return Page("runs.html", "Runs on this machine", view, command)


def view_runs(library: Library, query: Mapping[str, str]) -> RunsView:
    """The runs and trainings that have every word of the `text` in a query, newest first.

    The query has the cursors of both lists too.
    """
    items, trainings = library.items(), _training_lines(library)
    text = query.get("text", "")[:_LONGEST_FILTER]
    path = f"/runs?{urlencode({'text': text})}" if text else "/runs"
    words = text.casefold().split()
    found = [item for item in items if _has(_words_of(item), words)]
    cursor = parse_cursor(query).within(len(found))
    asked = cursor.query(_RUNS.rows)
    some = found[asked.offset : asked.offset + asked.limit]
    names = library.names_of([Path(item.path) for item in some])
    lines = [_run_line(name, item) for name, item in zip(names, some, strict=True)]
    known = [each for each in trainings if _has(each, words)]
    return RunsView(
        runs=_RUNS.part(lines, asked.offset, len(found), cursor, path),
        trainings=_TRAININGS.window(known, parse_cursor(query, "trainings"), path, "trainings"),
        filter=text,
        stream=f"{EVENTS}?known={_state_of(items, trainings)}",
    )


EVENTS = "/events"
"""Beside the runs, each of which has an address below theirs."""
_LOOK_SECONDS = 3.0
_SHARE = 20
"""How many times longer than a look is the time between two: that at 1,000 runs takes 0.3 s."""
_QUIET_LOOKS = 5


async def watch_list(library: Library, known: int | None) -> AsyncIterator[bytes]:
    """The events of a page that shows the list as `known`: `grown` when it is another."""
    yield FIRST_EVENT
    for look in count(1):
        begun = time.monotonic()
        state = await to_thread.run_sync(
            lambda: _state_of(library.items(), _training_lines(library))
        )
        if state != known:
            known = state
            yield event("grown", at=state)
        elif look % _QUIET_LOOKS == 0:
            yield STILL_THERE
        await anyio.sleep(max(_LOOK_SECONDS, _SHARE * (time.monotonic() - begun)))


def _state_of(items: list[RunItem], trainings: list[TrainingLine]) -> int:
    """A number that changes with what the list shows."""
    return zlib.crc32(repr((items, trainings)).encode(errors="replace"))


_LONGEST_FILTER = 500


def _words_of(item: RunItem) -> tuple[str, ...]:
    return (item.run_id, item.environment, item.model, item.status, item.note or "", *item.tags)


def _has(fields: Sequence[str], words: Sequence[str]) -> bool:
    whole = " ".join(fields).casefold()
    return all(word in whole for word in words)


def _run_line(name: str, item: RunItem) -> RunRow:
    return RunRow(
        name=name,
        path=run_path(name),
        environment=item.environment,
        model=item.model,
        size=format_size(item.num_examples or None, item.rollouts_per_example or None),
        reward=format_number(item.reward),
        errors="" if item.errors is None else format_share(item.errors),
        status=f"{item.status}, {item.progress}" if item.progress else item.status,
        date=item.date[:16].replace("T", " "),
    )


def _training_lines(library: Library) -> list[TrainingLine]:
    found = library.trainings()
    names = library.names_of([each.folder for each in found])
    return [_training_line(name, each) for name, each in zip(names, found, strict=True)]


def _training_line(name: str, each: SavedTraining) -> TrainingLine:
    manifest, facts = each.manifest, each.facts
    return TrainingLine(
        name=name,
        path=training_path(name),
        environment=manifest.plan.environment.title,
        model=manifest.plan.model,
        steps=f"{facts.step} of {facts.plan.steps}",
        verdict="" if facts.verdict is None else facts.verdict.verdict,
        status=status_of(RunFolder(each.folder), manifest),
        date=manifest.started[:16].replace("T", " "),
    )
