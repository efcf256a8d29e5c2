"""Pods and disks in tables, once or with `--watch`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Generic, Literal

import typer

from prime_cli.client.api.client import HubClient
from prime_cli.client.pods.listing import billed_so_far, gpu_words, moment, timestamp
from prime_cli.client.pods.watch import Shown, changed, poll
from prime_cli.core.completion_cache import note
from prime_cli.core.errors import UsageError
from prime_cli.core.formatting import format_duration, format_usd
from prime_cli.session import Session
from prime_cli.terminal.output import Output
from prime_cli.wire.pods import Pod
from prime_cli.wire.queries import ListPage

_SHORTEST_ID = 8
_UNITS = ((24 * 3600 - 30, 3600), (3600 - 1, 60))
"""From how many seconds on a countdown has no minutes, and no seconds."""


def short_ids(ids: Sequence[str]) -> list[str]:
    """Each id's beginning that no other of these shares, eight letters at least."""
    size = _SHORTEST_ID
    while len({each[:size] for each in ids}) < len(set(ids)):
        size += 1
    return [each[:size] for each in ids]


def machine_text(gpu: str, nodes: int) -> str:
    """`A100_80GB x8`; of several nodes, `2 nodes of A100_80GB x8`."""
    return gpu if nodes == 1 else f"{nodes} nodes of {gpu}"


def countdown(stop_at: str | None, now: datetime) -> str:
    """The time until a deadline, `overdue` after it, `-` where there is none."""
    when = moment(stop_at)
    if when is None:
        return "-"
    left = (when - now).total_seconds()
    return _left(left) if left > 0 else "overdue"


def duration_text(created_at: str, terminated_at: str | None) -> str:
    """How long a pod was there by whole seconds, `2h 5m`; `-` where either time is not known."""
    begun, ended = moment(timestamp(created_at)), moment(timestamp(terminated_at or ""))
    return format_duration((ended - begun).total_seconds()) if begun and ended else "-"


def deadline_text(when: datetime, now: datetime) -> str:
    """A deadline in local time, and the time until then."""
    left = round((when - now).total_seconds())
    until = f"in {_left(left)}" if left > 0 else "overdue"
    return f"{when.astimezone():%Y-%m-%d %H:%M %Z} ({until})"


def _left(seconds: float) -> str:
    """A countdown, rounded to what it shows: two hours are not `1h 59m` a second later."""
    unit = next((unit for least, unit in _UNITS if seconds >= least), 1)
    return format_duration(round(seconds / unit) * unit)


def described(pod: Pod, now: datetime, owner: str | None = None) -> str:
    """`web: A100_80GB x1, ACTIVE, 2h 5m, $3.40 so far`, or `web of ben: …`."""
    title = f"{pod.title} of {owner}" if owner else pod.title
    begun, billed = moment(pod.created_at), billed_so_far(pod, now)
    since = format_duration((now - begun).total_seconds()) if begun else "of unknown age"
    price = "at an unknown price" if billed is None else f"{format_usd(billed)} so far"
    machine = machine_text(gpu_words(pod.gpu_name, pod.gpu_count), pod.nodes)
    return f"{title}: {machine}, {pod.shown_status}, {since}, {price}"


# --- Watching ---

WatchOpt = Annotated[bool, typer.Option("--watch", "-w", help="Watch for changes until Ctrl-C.")]


def require_lines(output: Output, flag: str) -> None:
    """Raise UsageError where what has no end would be one JSON document."""
    if output.mode == "json":
        raise UsageError(
            f"`{flag}` never ends, so it cannot print one JSON document",
            hint="add `--output jsonl`",
        )


@dataclass(frozen=True)
class ListView(Generic[Shown]):
    """How the pods or disks of a hub are listed: the table's `titles`, and the row of an item with
    its full or shortened id. `page` makes a page for scripts of the items, their total, and its
    offset and limit. `summarize` is empty for none worth a word.
    """

    name: Literal["pods", "disks"]
    page: Callable[[list[Shown], int, int, int], Any]
    titles: tuple[str, ...]
    row: Callable[[Shown, str], list[str]]
    summarize: Callable[[Sequence[Shown]], str]
    hint: str

    def rows(self, things: Sequence[Shown], *, whole_ids: bool = False) -> list[list[str]]:
        """A row for each."""
        ids = [each.id for each in things]
        named = zip(things, ids if whole_ids else short_ids(ids), strict=True)
        return [self.row(each, name) for each, name in named]


def show_list(
    session: Session,
    view: ListView[Shown],
    ask: Callable[[HubClient], ListPage[Shown]],
    *,
    watch: bool,
) -> None:
    """Show what `ask` finds once, or with `watch` again and again."""
    if watch:
        require_lines(session.output, "--watch")
    hub = session.hub

    def read() -> ListPage[Shown]:
        listing = ask(hub)
        names = [name for each in listing.data for name in (each.name, each.id) if name]
        note(view.name, names, are_all=not (listing.offset or listing.more))
        return listing

    if watch:
        _watch(session, view, lambda: read().data)
    else:
        _show_once(session.output, view, read())


def _show_once(output: Output, view: ListView[Shown], listing: ListPage[Shown]) -> None:
    rows = view.rows(listing.data, whole_ids=output.mode == "plain")
    whole = view.page(listing.data, listing.total_count, listing.offset, listing.limit)
    output.table(view.titles, rows, records=listing.data, page=whole)
    if view.name == "pods" and (summary := view.summarize(listing.data)):
        output.say(summary)
    if listing.more:
        output.hint(f"{listing.more} more with `--offset {listing.offset + len(rows)}`")
    elif not rows:
        output.hint(view.hint)


def _watch(session: Session, view: ListView[Shown], ask: Callable[[], Sequence[Shown]]) -> None:
    table = session.output.live_table()
    if table is None:
        _tell_changes(session.output, ask, view)
        return
    with table:
        for things in poll(ask):
            below = f"{view.summarize(things) or f'No {view.name}'} (Ctrl-C to stop)"
            table.show(view.titles, view.rows(things), below)


def _tell_changes(
    output: Output, ask: Callable[[], Sequence[Shown]], view: ListView[Shown]
) -> None:
    before: Sequence[Shown] = ()
    for things in poll(ask):
        for each in changed(before, things):
            if output.mode == "table":
                now = f"{datetime.now(UTC):%H:%M:%S}"
                output.text(f"{now} {each.name or each.id} is {each.status}", record=each)
            else:
                output.table(view.titles, [view.row(each, each.id)], records=[each])
        before = things
        if not output.is_read():
            return
