"""`--watch` of lists: a table that is redrawn, or a line for each change."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Generic

import typer

from prime_cli.commands.pods.formatting import short_ids
from prime_cli.core.errors import UsageError
from prime_cli.pods.watch import Shown, changed, poll
from prime_cli.session import Session
from prime_cli.terminal.output import Output

WatchOpt = Annotated[bool, typer.Option("--watch", "-w", help="Watch for changes until Ctrl-C.")]


@dataclass(frozen=True)
class WatchColumns(Generic[Shown]):
    """How things are put under `titles`: each with its id, or a beginning that tells them apart."""

    titles: tuple[str, ...]
    row: Callable[[Shown, str], list[str]]

    def rows(self, things: Sequence[Shown], *, whole_ids: bool = False) -> list[list[str]]:
        """A row for each."""
        ids = [each.id for each in things]
        named = zip(things, ids if whole_ids else short_ids(ids), strict=True)
        return [self.row(each, name) for each, name in named]


def require_lines(output: Output, flag: str) -> None:
    """Raise UsageError where what has no end would be one JSON document."""
    if output.mode == "json":
        raise UsageError(
            f"`{flag}` never ends, so it cannot print one JSON document",
            hint="add `--output jsonl`",
        )


def watch(
    session: Session,
    ask: Callable[[], Sequence[Shown]],
    columns: WatchColumns[Shown],
    summed_up: Callable[[Sequence[Shown]], str],
) -> None:
    """Show what `ask` finds, again and again; `summed_up` is said below the table."""
    table = session.output.live_table()
    if table is None:
        _tell_changes(session.output, ask, columns)
        return
    with table:
        for things in poll(ask):
            below = f"{summed_up(things)} (Ctrl-C to stop)"
            table.show(columns.titles, columns.rows(things), below)


def _tell_changes(
    output: Output, ask: Callable[[], Sequence[Shown]], columns: WatchColumns[Shown]
) -> None:
    before: Sequence[Shown] = ()
    for things in poll(ask):
        for each in changed(before, things):
            if output.mode == "table":
                now = f"{datetime.now(UTC):%H:%M:%S}"
                output.text(f"{now} {each.name or each.id} is {each.status}", record=each)
            else:
                output.table(columns.titles, [columns.row(each, each.id)], records=[each])
        before = things
        if not output.is_read():
            return
