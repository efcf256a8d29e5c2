"""`prime disks list`."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer

from prime_cli.commands.disks.words import COLUMNS, row_of
from prime_cli.commands.options import ContextOpt, OfflineOpt, OutputOpt, QuietOpt, open_session
from prime_cli.commands.pods.options import LimitOpt, OffsetOpt
from prime_cli.commands.pods.words import short_ids
from prime_cli.core.completion_cache import remember, replace
from prime_cli.core.errors import UsageError
from prime_cli.core.phrases import counted
from prime_cli.pods.disks import DiskListing, ListedDisk, changed, list_disks
from prime_cli.pods.polling import polled
from prime_cli.session import Session


def list_(
    ctx: typer.Context,
    limit: LimitOpt = 100,
    offset: OffsetOpt = 0,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Go on, and show what changes, until Ctrl-C.")
    ] = False,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """List the disks that are there.

    Yours, and those of your teams: each is billed until it is terminated, also while no pod has
    it. With --watch the table is drawn anew every five seconds; where there is no terminal, what
    changes is a line.

    \b
    Example:
      prime disks list
      prime disks list --output json
    \b
    See also: `prime disks get`, `prime disks create`, `prime availability disks`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    if watch and session.output.mode == "json":
        raise UsageError(
            "`--watch` has no end, and one JSON document has", hint="add `--output jsonl`"
        )
    hub = session.hub
    if watch:
        _watch(session, lambda: list_disks(hub, offset=offset, limit=limit))
    else:
        _show(list_disks(hub, offset=offset, limit=limit), session)


def _show(listing: DiskListing, session: Session) -> None:
    _keep_names(listing)
    shown = session.output
    rows = _rows(listing, whole_ids=shown.mode == "plain")
    shown.table(COLUMNS, rows, records=listing.disks, page=listing)
    if listing.more:
        shown.hint(f"{listing.more} more with `--offset {listing.offset + len(rows)}`")
    elif not rows:
        shown.hint("rent one with `prime disks create --size GB`")


def _watch(session: Session, ask: Callable[[], DiskListing]) -> None:
    table = session.output.live_table()
    if table is None:
        _tell_changes(session, ask)
        return
    with table:
        for listing in polled(ask):
            _keep_names(listing)
            told = counted(listing.total_count, "disk") if listing.disks else "No disk is there"
            table.show(COLUMNS, _rows(listing), f"{told} (Ctrl-C ends this)")


def _tell_changes(session: Session, ask: Callable[[], DiskListing]) -> None:
    shown = session.output
    before: Sequence[ListedDisk] = ()
    for listing in polled(ask):
        for disk in changed(before, listing.disks):
            if shown.mode == "table":
                now = f"{datetime.now(UTC):%H:%M:%S}"
                shown.text(f"{now} {disk.name or disk.id} is {disk.status}", record=disk)
            else:
                shown.table(COLUMNS, [row_of(disk, disk.id)], records=[disk])
        before = listing.disks


def _keep_names(listing: DiskListing) -> None:
    names = [name for disk in listing.disks for name in (disk.name, disk.id) if name]
    (remember if listing.offset or listing.more else replace)("disks", names)


def _rows(listing: DiskListing, *, whole_ids: bool = False) -> list[list[str]]:
    ids = [disk.id for disk in listing.disks]
    named = zip(listing.disks, ids if whole_ids else short_ids(ids), strict=True)
    return [row_of(disk, name) for disk, name in named]
