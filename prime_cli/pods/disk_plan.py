"""What `prime disks create` is about to do: which offer, which size, at which price, for whom."""

from collections.abc import Sequence
from dataclasses import dataclass

from prime_cli.api.client import HubClient
from prime_cli.core.errors import NotFound
from prime_cli.pods.offer_ids import disk_offer_id
from prime_cli.wire.disks import DiskCreation, DiskRequest, check_size, price_of
from prime_cli.wire.offers import DiskOffer
from prime_cli.wire.pods import ProviderChoice, TeamChoice

_SEE = "see what there is with `prime availability disks`"


@dataclass(frozen=True)
class DiskWishes:
    """What is asked for; `offer_id` are the six letters of an offer, `size` is in GB."""

    size: int
    offer_id: str | None = None
    name: str | None = None
    country: str | None = None
    cloud_id: str | None = None
    data_center_id: str | None = None
    provider: str | None = None

    def fits(self, offer: DiskOffer) -> bool:
        """Whether an offer has all that is asked for; case is no difference."""
        return self.offer_id in (None, disk_offer_id(offer)) and all(
            wanted is None or wanted.casefold() == (there or "").casefold()
            for wanted, there in (
                (self.country, offer.country),
                (self.cloud_id, offer.cloud_id),
                (self.data_center_id, offer.data_center),
                (self.provider, offer.provider),
            )
        )


@dataclass(frozen=True)
class DiskPlan:
    """A disk to be made; `price` is in USD per hour, None where the hub does not say."""

    offer: DiskOffer
    creation: DiskCreation
    price: float | None


def fitting_offers(hub: HubClient, wishes: DiskWishes) -> list[DiskOffer]:
    """The kinds of disks that may be meant, at least one; raises NotFound."""
    there = hub.availability.disks()
    found = [offer for offer in there if wishes.fits(offer)]
    if not there:
        raise NotFound(
            f"There are no disks to rent on {hub.host}", hint="name another hub with `--context`"
        )
    if not found:
        what = f" `{wishes.offer_id}`" if wishes.offer_id else " with all of that"
        raise NotFound(f"There is no offer of a disk{what} on {hub.host} (any more)", hint=_SEE)
    return list({disk_offer_id(offer): offer for offer in found}.values())


def plan_disk(offer: DiskOffer, wishes: DiskWishes, team_id: str | None) -> DiskPlan:
    """A disk of this kind; raises UsageError for a size that it does not come in."""
    check_size(offer.spec, wishes.size)
    request = DiskRequest(
        size=wishes.size,
        name=wishes.name,
        country=offer.country,
        cloud_id=offer.cloud_id,
        data_center_id=offer.data_center,
    )
    team = TeamChoice(team_id) if team_id else None
    creation = DiskCreation(request, ProviderChoice(offer.provider), team)
    return DiskPlan(offer, creation, price_of(offer.spec, wishes.size))


def ids_of(offers: Sequence[DiskOffer]) -> list[str]:
    """Their six letters."""
    return [disk_offer_id(offer) for offer in offers]
