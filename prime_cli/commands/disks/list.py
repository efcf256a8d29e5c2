"""`prime disks list`."""

from collections.abc import Sequence

import typer

from prime_cli.commands.disks.words import COLUMNS
from prime_cli.commands.options import ContextOpt, OfflineOpt, OutputOpt, QuietOpt, open_session
from prime_cli.commands.pods.options import LimitOpt, OffsetOpt
from prime_cli.commands.pods.watching import WatchOpt, require_lines
from prime_cli.commands.pods.watching import watch as go_on
from prime_cli.core.completion_cache import note
from prime_cli.core.formatting import pluralize
from prime_cli.pods.disks import DiskListing, ListedDisk, list_disks
from prime_cli.terminal.output import Output


def list_(
    ctx: typer.Context,
    limit: LimitOpt = 100,
    offset: OffsetOpt = 0,
    watch: WatchOpt = False,
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
    if watch:
        require_lines(session.output, "--watch")
    hub = session.hub

    def ask() -> DiskListing:
        listing = list_disks(hub, offset=offset, limit=limit)
        names = [name for disk in listing.disks for name in (disk.name, disk.id) if name]
        note("disks", names, are_all=not (listing.offset or listing.more))
        return listing

    if watch:
        go_on(session, lambda: ask().disks, COLUMNS, _sum_up)
    else:
        _show(session.output, ask())


def _show(output: Output, listing: DiskListing) -> None:
    rows = COLUMNS.rows(listing.disks, whole_ids=output.mode == "plain")
    output.table(COLUMNS.titles, rows, records=listing.disks, page=listing)
    if listing.more:
        output.hint(f"{listing.more} more with `--offset {listing.offset + len(rows)}`")
    elif not rows:
        output.hint("rent one with `prime disks create --size GB`")


def _sum_up(disks: Sequence[ListedDisk]) -> str:
    return pluralize(len(disks), "disk") if disks else "No disk is there"
