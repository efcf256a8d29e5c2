"""The six letters by which an offer is named; the same for the same offer in official clients."""

import hashlib

from prime_cli.wire.offers import DiskOffer, GpuOffer

_LETTERS = 6
_NOTHING = "N/A"


def offer_id(offer: GpuOffer) -> str:
    """The first six hex digits of an MD5 over what tells machines apart, as releases 0.3.20 to 0.18
    of the official client compute it; it names and protects nothing.
    """
    location = f"{offer.country or _NOTHING} - {offer.data_center or _NOTHING}"
    parts = (
        offer.cloud_id,
        offer.gpu_type,
        offer.socket or _NOTHING,
        location,
        offer.provider or _NOTHING,
        offer.memory.default_count,
        offer.vcpu.default_count,
        offer.gpu_count,
    )
    return _digest("-".join(str(part) for part in parts))


def disk_offer_id(offer: DiskOffer) -> str:
    """The same for disks, where what is missing is the word `None`."""
    parts = (
        offer.provider,
        offer.cloud_id,
        offer.data_center,
        offer.country,
        offer.region,
        offer.spec.default_count,
    )
    return _digest("".join(f"{part}-" for part in parts))


def _digest(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:_LETTERS]
