"""Disks as listed and created by `prime disks`, with the official client's JSON names."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from prime_cli.client.api.accounts import fetch_all
from prime_cli.client.api.client import HubClient
from prime_cli.client.pods.creation import TEAM
from prime_cli.client.pods.listing import UNKNOWN, place_words, timestamp
from prime_cli.client.pods.lookup import match, require_one
from prime_cli.client.pods.offers import disk_offer_id
from prime_cli.core.errors import NotFound
from prime_cli.core.options import Option
from prime_cli.wire.disks import Disk, DiskCreation, DiskRequest, check_size
from prime_cli.wire.offers import DiskOffer
from prime_cli.wire.pods import ProviderChoice, TeamChoice
from prime_cli.wire.queries import ListPage, PageQuery


@dataclass(frozen=True)
class ListedDisk:
    """A disk; `size` is in GB, `price_hr` in USD.

    `location` is for programs, `place` for people. `place` and `pods`, the ids of those it is
    attached to, are our additions.
    """

    id: str
    name: str
    size: int
    status: str
    provider: str
    location: str
    created_at: str
    price_hr: float | None
    place: str
    pods: tuple[str, ...]


def list_disks(hub: HubClient, query: PageQuery) -> ListPage[ListedDisk]:
    """Existing disks, oldest first; raises NotLoggedIn if the hub does not know the user."""
    page = hub.disks.page(offset=query.offset, limit=query.limit)
    disks = sorted(map(listed, page.data), key=lambda disk: disk.created_at)
    return ListPage(disks, page.total_count, query.offset, query.limit)


def find_disk(hub: HubClient, word: str) -> Disk:
    """The disk with this id or name, or the only one whose id begins with it.

    Raises NotFound, and UsageError if several match.
    """
    return require_one(hub, match(fetch_all(hub.disks.page), word), word, "disk", label=_label)


def find_disks(hub: HubClient, words: Sequence[str]) -> tuple[Disk, ...]:
    """The disk for each of `words`, as `find_disk`, without duplicates."""
    disks = fetch_all(hub.disks.page) if words else []
    found = [require_one(hub, match(disks, word), word, "disk", label=_label) for word in words]
    return tuple({disk.id: disk for disk in found}.values())


def _label(disk: Disk) -> str:
    return f"{disk.id}  {disk.size} GB of {disk.provider_type}, made {timestamp(disk.created_at)}"


def listed(disk: Disk) -> ListedDisk:
    """A disk as a row."""
    return ListedDisk(
        id=disk.id,
        name=disk.name,
        size=disk.size,
        status=disk.status,
        provider=disk.provider_type,
        location=_location(disk),
        place=place_of(disk),
        created_at=timestamp(disk.created_at),
        price_hr=disk.price_hr,
        pods=tuple(disk.pods),
    )


class DiskDetails(msgspec.Struct, frozen=True, kw_only=True):
    """A disk by itself; `info` is its location as its provider gives it."""

    id: str
    name: str
    size: int
    status: str
    provider: str
    created_at: str
    updated_at: str | None
    terminated_at: str | None
    price_hr: float | None
    user_id: str | None
    team_id: str | None
    wallet_id: str | None
    info: dict[str, Any] | None
    pods: list[str]
    clusters: list[str]


def detailed(disk: Disk) -> DiskDetails:
    """A disk by itself."""
    times = ("created_at", "updated_at", "terminated_at")
    given = msgspec.structs.asdict(disk)
    given |= {name: timestamp(given[name]) for name in times if given[name]}
    return DiskDetails(provider=given.pop("provider_type"), **given)


def place_of(disk: Disk) -> str:
    """`US (US-KS-2)`, or as much of that as is known; empty if nothing is."""
    return place_words(*_place(disk))


def _place(disk: Disk) -> tuple[str | None, str | None]:
    info = disk.info or {}
    known = (info.get(name) for name in ("country", "dataCenterId"))
    country, data_center = (str(text) if text else None for text in known)
    return country, data_center


def _location(disk: Disk) -> str:
    """As the official client writes it, with `N/A` for unknown parts."""
    country, data_center = _place(disk)
    return f"{country or UNKNOWN} ({data_center or UNKNOWN})"


_SEE = "list offers with `prime availability disks`"


@dataclass(frozen=True)
class DiskSpec:
    """The request: `offer_id` is the six letters of an offer, `size` is in GB, and `team` is the
    slug or id of its owner.
    """

    size: Annotated[int, Option("Size in GB.", metavar="GB", least=1)]
    offer_id: Annotated[
        str | None,
        Option("The id of an offer in `availability disks`.", names=("--id",), metavar="ID"),
    ] = None
    name: Annotated[str | None, Option("Its name.", show_default="by its id")] = None
    country: Annotated[str | None, Option("Where, as US.")] = None
    cloud_id: Annotated[str | None, Option("The provider's id of the offer.", metavar="ID")] = None
    data_center_id: Annotated[str | None, Option("Only in this data center.", metavar="ID")] = None
    team: Annotated[str | None, TEAM] = None
    provider: Annotated[
        str | None, Option("Whose offer.", names=("--provider-type", "--provider"))
    ] = None

    def fits(self, offer: DiskOffer) -> bool:
        """Whether an offer meets the whole request; case is ignored."""
        return self.offer_id in (None, disk_offer_id(offer)) and all(
            wanted is None or wanted.casefold() == (there or "").casefold()
            for wanted, there in (
                (self.country, offer.country),
                (self.cloud_id, offer.cloud_id),
                (self.data_center_id, offer.data_center),
                (self.provider, offer.provider),
            )
        )


def fitting_offers(hub: HubClient, options: DiskSpec) -> list[DiskOffer]:
    """The matching kinds of disks, at least one; raises NotFound."""
    there = hub.availability.disks()
    found = [offer for offer in there if options.fits(offer)]
    if not there:
        raise NotFound(
            f"There are no disks to rent on {hub.host}", hint="choose another hub with `--context`"
        )
    if not found:
        what = f" `{options.offer_id}`" if options.offer_id else " with all of that"
        raise NotFound(f"There is no offer of a disk{what} on {hub.host} now", hint=_SEE)
    return list({disk_offer_id(offer): offer for offer in found}.values())


def disk_creation(offer: DiskOffer, options: DiskSpec, team_id: str | None) -> DiskCreation:
    """The request for a disk of this kind; raises UsageError for an unavailable size."""
    check_size(offer.spec, options.size)
    request = DiskRequest(
        size=options.size,
        name=options.name,
        country=offer.country,
        cloud_id=offer.cloud_id,
        data_center_id=offer.data_center,
    )
    team = TeamChoice(team_id) if team_id else None
    return DiskCreation(request, ProviderChoice(offer.provider), team)
