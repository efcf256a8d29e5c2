"""`prime env diff`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from prime_cli.commands.options import PythonOpt, hub_options, open_session
from prime_cli.core.archive.diff.compare import (
    Difference,
    FileDifference,
    SnapshotSummary,
    ValueChange,
    compare_snapshots,
)
from prime_cli.core.errors import ExitCode
from prime_cli.envs.snapshots import SnapshotLoader
from prime_cli.session import Session

_MARKS = {"added": "+", "removed": "-", "changed": "~"}


@hub_options(answer=Difference, exits=ExitCode.ENVIRONMENT)
def diff(
    ctx: typer.Context,
    first: Annotated[
        str, typer.Argument(metavar="A", help="owner/name[@version], a folder or a wheel.")
    ],
    second: Annotated[
        str | None, typer.Argument(metavar="[B]", help="The other side; same forms as A.")
    ] = None,
    stat: Annotated[
        bool, typer.Option("--stat", help="Show line counts instead of the lines.")
    ] = False,
    python: PythonOpt = None,
) -> None:
    """Compare two versions of an environment.

    With A alone, compares the installed (or else locked) version with A, to preview an upgrade.
    Shows changes of installed files, dependencies, arguments and reward code, and whether scores
    are still comparable. Reads the source without running it.

    \b
    Example:
      prime env diff ada/wordle
      prime env diff ada/wordle@1.0 ada/wordle@1.1 --stat
      prime env diff ada/wordle ./environments/wordle
    \b
    See also: `prime env outdated`, `prime env sync`, `prime eval compare`.
    """
    session = open_session(ctx)
    sides = SnapshotLoader(
        lambda: session.hub, Path.cwd(), session.progress, offline=session.config.offline
    )
    with session.progress.task("Comparing"):
        found = compare_snapshots(*sides.pair(first, second, python))
    _show(session, found, stat=stat)


def _show(session: Session, found: Difference, *, stat: bool) -> None:
    output = session.output
    if output.mode == "plain":
        rows = list(_rows(found))
        output.table(("Part", "Status", "Name", "Before", "After"), rows, records=rows)
        return
    lines = [_heading(found.a, found.b), found.verdict.sentence, *_lines(found)]
    if not stat:
        for change in found.files:
            lines += _file_lines(change)
    output.text("\n".join(lines), record=found)


def _rows(found: Difference) -> Iterator[list[str]]:
    yield ["scores", found.verdict.comparable, found.verdict.sentence, "", ""]
    for reward in found.rewards:
        yield ["reward", reward.status, reward.name, "", ""]
    for part, changes in (("argument", found.arguments), ("dependency", found.dependencies)):
        for change in changes:
            yield [part, _status(change), change.name, change.before or "", change.after or ""]
    for file in found.files:
        yield ["file", file.status, file.path, _count(file.removed), _count(file.added)]


def _lines(found: Difference) -> Iterator[str]:
    if found.is_empty:
        yield "No installed file differs"
    yield from _section("Reward code", [f"{_MARKS[r.status]} {r.name}" for r in found.rewards])
    yield from _section("Arguments", [_value(each) for each in found.arguments])
    yield from _section("Dependencies", [_named(each) for each in found.dependencies])
    yield from _section("Files", [_counted(each) for each in found.files])


def _section(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield from ("", title, *(f"  {line}" for line in lines))


def _heading(a: SnapshotSummary, b: SnapshotSummary) -> str:
    return f"From {_side(a)}\nto   {_side(b)}\n"


def _side(facts: SnapshotSummary) -> str:
    version = "" if f"@{facts.version}" in facts.label else f" {facts.version}"
    digest = f", sha256 {facts.sha256[:12]}" if facts.sha256 else ""
    return f"{facts.label}{version}{digest}"


def _status(change: ValueChange) -> str:
    if change.before is None:
        return "added"
    return "removed" if change.after is None else "changed"


def _value(change: ValueChange) -> str:
    shown = [text for text in (change.before, change.after) if text is not None]
    return f"{_MARKS[_status(change)]} {' → '.join(shown)}"


def _named(change: ValueChange) -> str:
    shown = [text for text in (change.before, change.after) if text is not None]
    return f"{_MARKS[_status(change)]} {change.name} {' → '.join(shown)}"


def _counted(change: FileDifference) -> str:
    counts = []
    if change.added is not None and change.removed is not None:
        counts = [f"+{change.added} -{change.removed}"]
    noted = [f"({change.note})"] if change.note and not change.diff else []
    return " ".join([_MARKS[change.status], change.path, *counts, *noted])


def _file_lines(change: FileDifference) -> list[str]:
    if not change.diff:
        return []
    head = ["", f"{_MARKS[change.status]} {change.path}"]
    rest = [f"… only {change.note}"] if change.note else []
    return [*head, *change.diff, *rest]


def _count(number: int | None) -> str:
    return "" if number is None else str(number)
