"""`prime availability list`."""

from typing import Annotated

import typer

from prime_cli.commands.availability import flags
from prime_cli.commands.options import ContextOpt, OfflineOpt, OutputOpt, QuietOpt, open_session
from prime_cli.commands.pods.words import price_words
from prime_cli.pods.choosing import why_none
from prime_cli.pods.disks import find_disks
from prime_cli.pods.offers import Wanted, fetch_offers, narrow, read_regions, read_words
from prime_cli.pods.shown_offers import NOT_TOLD, ShownOffer, show_offers

_COLUMNS = (
    "Id", "GPU", "$/h", "Provider", "Place", "Stock", "vCPUs", "RAM GB", "Disk GB", "Socket",
    "Security",
)  # fmt: skip


def list_(
    ctx: typer.Context,
    gpu_type: flags.GpuTypeOpt = None,
    gpu_count: flags.GpuCountOpt = None,
    regions: flags.RegionsOpt = None,
    socket: flags.SocketOpt = None,
    provider: flags.ProviderOpt = None,
    max_price: flags.MaxPriceOpt = None,
    spot: flags.SpotOpt = None,
    disks: Annotated[
        list[str] | None,
        typer.Option("--disks", metavar="DISK", help="Where this disk is; may be repeated."),
    ] = None,
    group_similar: Annotated[
        bool,
        typer.Option(
            "--group-similar/--no-group-similar",
            help="One row for offers that differ in vCPUs and memory alone.",
        ),
    ] = True,
    output: OutputOpt = None,
    quiet: QuietOpt = False,
    context: ContextOpt = None,
    offline: OfflineOpt = None,
) -> None:
    """List the machines that can be rented now.

    The cheapest comes first; prices are in USD for the whole machine. The id is what
    `prime pods create --id` takes.

    \b
    Example:
      prime availability list
      prime availability list --gpu-type h100 --gpu-count 8 --max-price 20
    \b
    See also: `prime pods create`, `prime availability disks`.
    """
    session = open_session(ctx, output=output, quiet=quiet, context=context, offline=offline)
    hub = session.hub
    wanted = Wanted(
        gpu_type=gpu_type,
        gpu_count=gpu_count,
        regions=read_regions(regions or ()),
        socket=socket,
        provider=provider,
        disks=tuple(disk.id for disk in find_disks(hub, read_words(disks or ()))),
        max_price=max_price,
        spot=spot,
    )
    offers = fetch_offers(hub, wanted)
    found = show_offers(narrow(offers, wanted), group=group_similar)
    page = {
        "gpu_resources": found,
        "total_count": len(found),
        "filters": {
            "gpu_type": gpu_type,
            "gpu_count": gpu_count,
            "regions": list(wanted.regions) or None,
            "socket": socket,
            "provider": provider,
            "group_similar": group_similar,
            "max_price": max_price,
            "spot": spot,
        },
    }
    session.output.table(_COLUMNS, [_row(each) for each in found], records=found, page=page)
    if found:
        session.output.hint("rent one with `prime pods create --id ID`")
    else:
        reason = why_none(offers, wanted)
        session.output.say(reason.message)
        if reason.hint:
            session.output.hint(reason.hint)


def _row(offer: ShownOffer) -> list[str]:
    # As `--gpu-type` takes it.
    name = offer.gpu_type.removesuffix(" (Spot)").replace(" ", "_")
    cells = [
        offer.id,
        f"{name} x{offer.gpu_count}{' spot' if offer.is_spot else ''}",
        price_words(offer.price_value),
        offer.provider,
        offer.location,
        offer.stock_status,
        offer.vcpus,
        offer.memory_gb,
        offer.disk_gb,
        offer.socket,
        offer.security,
    ]
    return ["-" if cell == NOT_TOLD else cell for cell in cells]
