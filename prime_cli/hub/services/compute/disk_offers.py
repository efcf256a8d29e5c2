"""Which kind of disk is meant by a request, and which sizes it comes in."""

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.hub.compute.provider import Provider
from prime_cli.hub.context import Hub
from prime_cli.hub.services.compute.offers import gather
from prime_cli.hub.services.compute.providers import require_providers
from prime_cli.wire.disks import DiskCreation, check_size
from prime_cli.wire.offers import DiskOffer

_MOST_NAMED = 5


def choose_offer(hub: Hub, creation: DiskCreation) -> tuple[Provider, DiskOffer]:
    """The one offer that has all that is asked for, and the provider that makes it.

    Raises NotFound where there is none, UsageError where there are several or the size is not one
    of its sizes, and what providers raise.
    """
    require_providers(hub)
    wanted = creation.disk
    asked = {
        "provider": creation.provider.type,
        "cloudId": wanted.cloud_id,
        "dataCenterId": wanted.data_center_id,
        "country": wanted.country,
    }
    found = [
        (provider, offer)
        for provider, offer in gather(hub, lambda provider: provider.disk_offers())
        if all(
            text is None or text == there
            for text, there in zip(asked.values(), _place(offer), strict=True)
        )
    ]
    if not found:
        told = ", ".join(f"{name} `{text[:80]}`" for name, text in asked.items() if text)
        raise NotFound(
            f"No disk is offered{f' with {told}' if told else ''}",
            hint="see what is: `prime availability disks`",
        )
    if len(found) > 1:
        named = ", ".join(f"`{offer.cloud_id or offer.provider}`" for _, offer in found)
        raise UsageError(
            f"{len(found)} kinds of disks are offered that may be meant",
            hint=f"name one by its cloudId, dataCenterId or provider: {named}"
            if len(found) <= _MOST_NAMED
            else "name one by its cloudId, dataCenterId or provider",
        )
    check_size(found[0][1].spec, wanted.size)
    return found[0]


def _place(offer: DiskOffer) -> tuple[str | None, ...]:
    return offer.provider, offer.cloud_id, offer.data_center, offer.country
