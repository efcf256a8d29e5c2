"""`prime disks …`, also `prime disk …`."""

from collections.abc import Sequence
from typing import Annotated

import msgspec
import typer

from prime_cli.client.pods.disks import (
    DiskDetails,
    DiskSpec,
    ListedDisk,
    detailed,
    disk_creation,
    find_disk,
    fitting_offers,
    list_disks,
    place_of,
)
from prime_cli.client.pods.listing import hourly, place_words, timestamp
from prime_cli.client.pods.offers import disk_offer_id
from prime_cli.commands.base import group
from prime_cli.commands.contract import SPENDS, WRITES
from prime_cli.commands.options import YES, hub_options, open_session
from prime_cli.commands.pods.tables import ListView, WatchOpt, show_list
from prime_cli.commands.pods.teams import choose_team
from prime_cli.core.completion_cache import forget, remember
from prime_cli.core.errors import Conflict, ExitCode, UsageError
from prime_cli.core.formatting import first_few, format_usd, pluralize
from prime_cli.session import Session
from prime_cli.wire.disks import Disk, price_of
from prime_cli.wire.offers import DiskOffer
from prime_cli.wire.queries import PageQuery

_HERE = "prime_cli.commands.disks"

app = group(
    "Manage persistent disks.",
    {
        "list": (f"{_HERE}:list_", "List your disks."),
        "get": (f"{_HERE}:get", "Show a disk."),
        "create": (f"{_HERE}:create", "Create a disk."),
        "update": (f"{_HERE}:update", "Rename a disk."),
        "terminate": (f"{_HERE}:terminate", "Terminate a disk and delete its data."),
    },
    aliases={"ls": "list"},
)


DiskArg = Annotated[
    str, typer.Argument(metavar="DISK", help="Its name, or its id or the start of it.")
]


def _row(disk: ListedDisk, shown_id: str) -> list[str]:
    return [
        disk.name or "-",
        shown_id,
        f"{disk.size} GB",
        disk.status,
        disk.provider,
        disk.place or "-",
        disk.created_at,
        format_usd(disk.price_hr, "-"),
        str(len(disk.pods)),
    ]


class ListedDisks(msgspec.Struct, frozen=True):
    """A page of disks, and how many there are."""

    disks: list[ListedDisk]
    total_count: int
    offset: int
    limit: int


_DISKS = ListView(
    "disks",
    ListedDisks,
    ("Name", "Id", "Size", "Status", "Provider", "Place", "Created", "$/h", "Pods"),
    _row,
    lambda disks: pluralize(len(disks), "disk") if disks else "",
    "rent one with `prime disks create --size GB`",
)


@hub_options(answer=ListedDisks, record=ListedDisk)
def list_(
    ctx: typer.Context,
    page: PageQuery,
    watch: WatchOpt = False,
) -> None:
    """List your disks.

    Lists your disks and those of your teams. Each is billed until it is terminated, even if no pod
    uses it. --watch refreshes the table every five seconds, or prints a line for each change if
    there is no terminal.

    \b
    Example:
      prime disks list
      prime disks list --output json
    \b
    See also: `prime disks get`, `prime disks create`, `prime availability disks`.
    """
    session = open_session(ctx)
    show_list(session, _DISKS, lambda hub: list_disks(hub, page), watch=watch)


@hub_options(answer=DiskDetails)
def get(
    ctx: typer.Context,
    disk: DiskArg,
) -> None:
    """Show a disk.

    \b
    Example:
      prime disks get data
      prime disks get data --output json
    \b
    See also: `prime disks list`, `prime disks terminate`.
    """
    session = open_session(ctx)
    found = find_disk(session.hub, disk)
    session.output.show(detailed(found), lines=_disk_lines(found))


def _disk_lines(disk: Disk) -> list[tuple[str, str]]:
    told = [
        ("name", disk.name or "-"),
        ("id", disk.id),
        ("status", disk.status),
        ("size", f"{disk.size} GB"),
        ("provider", disk.provider_type),
        ("place", place_of(disk)),
        ("price/h", format_usd(disk.price_hr, "-")),
        ("team", disk.team_id or ""),
        ("created", timestamp(disk.created_at)),
        ("terminated", timestamp(disk.terminated_at or "")),
        ("pods", ", ".join(disk.pods) or "none"),
        ("clusters", ", ".join(disk.clusters)),
    ]
    return [(label, text) for label, text in told if text]


@hub_options(YES, answer=DiskDetails, effects=(WRITES, SPENDS), exits=ExitCode.ENVIRONMENT)
def create(
    ctx: typer.Context,
    *,
    spec: DiskSpec,
) -> None:
    """Create a disk.

    The disk remains after its pods are terminated, and is billed until you terminate it. Shows the
    price before asking.

    \b
    Example:
      prime disks create --size 200 --name data
      prime disks create --id 1f2e3d --size 200 --yes
    \b
    See also: `prime availability disks`, `prime pods create`.
    """
    session = open_session(ctx)
    hub, size = session.hub, spec.size
    offer = _choose_offer(session, fitting_offers(hub, spec), size)
    chosen = choose_team(session, spec.team)
    creation = disk_creation(offer, spec, chosen.team_id if chosen else None)
    until = f"{hourly(price_of(offer.spec, size))} until it is terminated"
    session.output.confirm(
        f"Rent a disk of {size} GB, {_offer_text(offer)}, at {until}?",
        otherwise="Nothing was rented",
    )
    made = hub.disks.create(creation)
    remember("disks", filter(None, (made.name, made.id)))
    which = f"`{made.name}` ({made.id})" if made.id else f"`{made.name}`"
    session.output.done(
        f"Rented the disk {which}: {made.size or size} GB at {hourly(made.price_hr)}",
        value=detailed(made),
    )
    session.output.hint(f"attach it with `prime pods create --disks {made.name or made.id}`")


def _choose_offer(session: Session, offers: Sequence[DiskOffer], size: int) -> DiskOffer:
    if len(offers) == 1:
        return offers[0]
    ids = [disk_offer_id(offer) for offer in offers]
    if not session.output.is_interactive:
        raise UsageError(
            f"{len(offers)} kinds of disks match: {', '.join(ids)}",
            hint="choose one with `--id`; see `prime availability disks`",
        )
    told = [
        f"{each} {_offer_text(offer)}, {hourly(price_of(offer.spec, size))}"
        for each, offer in zip(ids, offers, strict=True)
    ]
    return offers[told.index(session.output.choose("Which disk?", told, flag="--id"))]


def _offer_text(offer: DiskOffer) -> str:
    place = place_words(offer.country, offer.data_center)
    return f"{offer.provider} in {place}" if place else offer.provider


class RenamedDisk(msgspec.Struct, frozen=True):
    """A disk and its new name."""

    id: str
    name: str


@hub_options(answer=RenamedDisk, effects=WRITES)
def update(
    ctx: typer.Context,
    disk: DiskArg,
    name: Annotated[str, typer.Option("--name", help="Its new name.")],
) -> None:
    """Rename a disk.

    \b
    Example:
      prime disks update disk-1f2e3d4c --name data
    \b
    See also: `prime disks list`.
    """
    session = open_session(ctx)
    hub = session.hub
    found = find_disk(hub, disk)
    hub.disks.rename(found.id, name)
    forget("disks", [found.name])
    remember("disks", [name, found.id])
    session.output.done(
        f"The disk `{found.name}` is now called `{name}`", value=RenamedDisk(found.id, name)
    )


class TerminatedDisk(msgspec.Struct, frozen=True):
    """A disk and its last status."""

    id: str
    name: str
    status: str


@hub_options(YES, answer=TerminatedDisk, effects=WRITES)
def terminate(
    ctx: typer.Context,
    disk: DiskArg,
) -> None:
    """Terminate a disk and delete its data.

    This cannot be undone. Terminate the pod first if the disk is attached to one.

    \b
    Example:
      prime disks terminate data
      prime disks terminate data --yes
    \b
    See also: `prime disks list`, `prime pods terminate`.
    """
    session = open_session(ctx)
    hub = session.hub
    found = find_disk(hub, disk)
    _require_free(found)
    described = f"the disk `{found.name}` ({found.size} GB of {found.provider_type})"
    session.output.confirm(
        f"Terminate {described} and delete its data?",
        otherwise="Nothing was terminated",
    )
    ended = hub.disks.terminate(found.id)
    forget("disks", [found.name, found.id])
    session.output.done(
        f"Terminated {described}",
        value=TerminatedDisk(found.id, found.name, ended.status),
    )


def _require_free(disk: Disk) -> None:
    """Raise Conflict while a pod or a cluster has it."""
    if disk.pods:
        raise Conflict(
            f"The disk `{disk.name}` is attached to the pod {first_few(disk.pods)}",
            hint=f"terminate that first: `prime pods terminate {disk.pods[0]}`",
        )
    if disk.clusters:
        raise Conflict(
            f"The disk `{disk.name}` is attached to a cluster: {first_few(disk.clusters)}"
        )
