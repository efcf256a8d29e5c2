"""`prime availability …`."""

from typing import Annotated

import msgspec
import typer

from prime_cli.client.pods.disks import find_disks
from prime_cli.client.pods.listing import UNKNOWN
from prime_cli.client.pods.offer_rows import (
    DiskOfferRow,
    GpuTypeRow,
    OfferRow,
    disk_offer_rows,
    gpu_type_rows,
    offer_rows,
)
from prime_cli.client.pods.offers import (
    explain_no_offer,
    fetch_offers,
    filter_offers,
    read_regions,
    split_list,
)
from prime_cli.commands.base import group
from prime_cli.commands.options import hub_options, open_session
from prime_cli.core.formatting import format_usd
from prime_cli.wire.offers import DiskOfferQuery, OfferQuery

_HERE = "prime_cli.commands.availability"

app = group(
    "Find machines to rent, with prices.",
    {
        "list": (f"{_HERE}:list_", "List available machines."),
        "gpu-types": (f"{_HERE}:gpu_types", "List available GPU types."),
        "disks": (f"{_HERE}:disks", "List available disks."),
    },
    aliases={"ls": "list"},
)


_OFFER_COLUMNS = (
    "Id", "GPU", "$/h", "Provider", "Place", "Stock", "vCPUs", "RAM GB", "Disk GB", "Socket",
    "Security",
)  # fmt: skip


class OfferFilters(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for; `max_price` is in USD per hour."""

    gpu_type: str | None
    gpu_count: int | None
    regions: list[str] | None
    socket: str | None
    provider: str | None
    group_similar: bool
    max_price: float | None
    spot: bool | None


class Offers(msgspec.Struct, frozen=True):
    """Machines, cheapest first."""

    gpu_resources: list[OfferRow]
    total_count: int
    filters: OfferFilters


@hub_options(answer=Offers, record=OfferRow)
def list_(
    ctx: typer.Context,
    query: OfferQuery,
    group_similar: Annotated[
        bool,
        typer.Option(
            "--group-similar/--no-group-similar",
            help="Combine offers that differ only in vCPUs and memory.",
        ),
    ] = True,
) -> None:
    """List available machines.

    Sorted by price, in USD for the whole machine. Pass an id to `prime pods create --id`.

    \b
    Example:
      prime availability list
      prime availability list --gpu-type h100 --gpu-count 8 --max-price 20
    \b
    See also: `prime pods create`, `prime availability disks`.
    """
    session = open_session(ctx)
    hub = session.hub
    wanted = msgspec.structs.replace(
        query,
        regions=read_regions(query.regions),
        disks=tuple(disk.id for disk in find_disks(hub, split_list(query.disks))),
    )
    offers = fetch_offers(hub, wanted)
    found = offer_rows(filter_offers(offers, wanted), group=group_similar)
    filters = OfferFilters(
        gpu_type=wanted.gpu_type,
        gpu_count=wanted.gpu_count,
        regions=list(wanted.regions) or None,
        socket=wanted.socket,
        provider=wanted.provider,
        group_similar=group_similar,
        max_price=wanted.max_price,
        spot=wanted.spot,
    )
    page = Offers(found, len(found), filters)
    session.output.table(
        _OFFER_COLUMNS, [_offer_row(each) for each in found], records=found, page=page
    )
    if found:
        session.output.hint("rent one with `prime pods create --id ID`")
    else:
        reason = explain_no_offer(offers, wanted)
        session.output.say(reason.message)
        if reason.hint:
            session.output.hint(reason.hint)


def _offer_row(offer: OfferRow) -> list[str]:
    # As `--gpu-type` takes it.
    name = offer.gpu_type.removesuffix(" (Spot)").replace(" ", "_")
    gpu = f"{name} x{offer.gpu_count}{' spot' if offer.is_spot else ''}"
    cells = [offer.id, gpu, format_usd(offer.price_value, "-"), offer.provider, offer.location]
    cells += [offer.stock_status, offer.vcpus, offer.memory_gb, offer.disk_gb, offer.socket]
    cells.append(offer.security)
    return ["-" if cell == UNKNOWN else cell for cell in cells]


_GPU_COLUMNS = ("GPU", "How many", "From $/h")


class GpuTypes(msgspec.Struct, frozen=True):
    """The names of the types."""

    gpu_types: list[str]
    total_count: int


@hub_options(answer=GpuTypes, record=GpuTypeRow)
def gpu_types(
    ctx: typer.Context,
) -> None:
    """List available GPU types.

    \b
    Example:
      prime availability gpu-types
    \b
    See also: `prime availability list`, `prime pods create`.
    """
    session = open_session(ctx)
    found = gpu_type_rows(session.hub.availability.summary())
    names = [each.gpu_type for each in found]
    rows = [[e.gpu_type, ", ".join(e.gpu_counts), format_usd(e.cheapest, "-")] for e in found]
    page = GpuTypes(names, len(names))
    session.output.table(_GPU_COLUMNS, rows, records=found, page=page)
    if not found:
        session.output.say("Nothing is available on this hub now")


_DISK_COLUMNS = ("Id", "Provider", "Place", "$/h per GB", "Most GB", "Stock", "Several nodes")


class DiskFilters(msgspec.Struct, frozen=True):
    """What was asked for."""

    regions: list[str] | None
    data_center_id: str | None


class DiskOffers(msgspec.Struct, frozen=True):
    """Kinds of disks, cheapest first."""

    disks: list[DiskOfferRow]
    total_count: int
    filters: DiskFilters


@hub_options(answer=DiskOffers, record=DiskOfferRow)
def disks(
    ctx: typer.Context,
    query: DiskOfferQuery,
) -> None:
    """List available disks.

    A disk remains after its pods are terminated, and is billed until you terminate it.

    \b
    Example:
      prime availability disks --regions united_states
    \b
    See also: `prime availability list`.
    """
    session = open_session(ctx)
    wanted = msgspec.structs.replace(query, regions=read_regions(query.regions))
    found = disk_offer_rows(session.hub.availability.disks(wanted))
    filters = DiskFilters(list(wanted.regions) or None, wanted.data_center_id)
    page = DiskOffers(found, len(found), filters)
    session.output.table(
        _DISK_COLUMNS, [_disk_row(each) for each in found], records=found, page=page
    )
    if found:
        session.output.hint("rent one with `prime disks create --id ID --size GB`")
    else:
        session.output.say("No such disks are available on this hub now")


def _disk_row(disk: DiskOfferRow) -> list[str]:
    cells = [disk.short_id, disk.provider, disk.location]
    cells += [format_usd(disk.price_value, "-"), disk.max_size, disk.stock_status]
    cells.append(disk.is_multinode.lower())
    return ["-" if cell == UNKNOWN else cell for cell in cells]
