"""`prime availability disks`."""

from typing import Annotated

import typer

from prime_cli.commands.availability.flags import RegionsOpt
from prime_cli.commands.options import ContextOpt, OfflineOpt, OutputOpt, QuietOpt, open_session
from prime_cli.commands.pods.words import price_words
from prime_cli.pods.offers import read_regions
from prime_cli.pods.shown_offers import NOT_TOLD, ShownDisk, show_disks

_COLUMNS = ("Id", "Provider", "Place", "$/h per GB", "Most GB", "Stock", "Several nodes")


def disks(
    ctx: typer.Context,
    regions: RegionsOpt = None,
    data_center_id: Annotated[
        str | None,
        typer.Option("--data-center-id", metavar="ID", help="Only in this data center."),
    ] = None,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """List the disks that can be rented now.

    A disk outlives the pods that it is attached to, and is paid for until it is terminated.

    \b
    Example:
      prime availability disks --regions united_states
    \b
    See also: `prime availability list`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    places = read_regions(regions or ())
    found = show_disks(session.hub.availability.disks(places, data_center_id))
    filters = {"regions": list(places) or None, "data_center_id": data_center_id}
    page = {"disks": found, "total_count": len(found), "filters": filters}
    session.output.table(_COLUMNS, [_row(each) for each in found], records=found, page=page)
    if found:
        session.output.hint("rent one with `prime disks create --id ID --size GB`")
    else:
        session.output.say("There are no such disks on this hub now")


def _row(disk: ShownDisk) -> list[str]:
    cells = [
        disk.short_id,
        disk.provider,
        disk.location,
        price_words(disk.price_value),
        disk.max_size,
        disk.stock_status,
        disk.is_multinode.lower(),
    ]
    return ["-" if cell == NOT_TOLD else cell for cell in cells]
