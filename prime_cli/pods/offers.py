"""What can be rented: fetched from the hub, filtered, cheapest first."""

import difflib
import hashlib
import re
from collections.abc import Iterable, Sequence
from itertools import accumulate
from math import inf

from prime_cli.api.client import HubClient
from prime_cli.wire.offers import DiskOffer, GpuOffer, OfferQuery

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
    return _short_digest("-".join(str(part) for part in parts))


def disk_offer_id(offer: DiskOffer) -> str:
    """The same for disks, with the word `None` for missing values."""
    parts = (
        offer.provider,
        offer.cloud_id,
        offer.data_center,
        offer.country,
        offer.region,
        offer.spec.default_count,
    )
    return _short_digest("".join(f"{part}-" for part in parts))


def _short_digest(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:_LETTERS]


_CLOSE = 0.4
_SEPARATORS = re.compile(r"[\s_-]+")


def split_list(values: Iterable[str]) -> tuple[str, ...]:
    """The words of a repeatable option that may also be comma-separated."""
    words = (word.strip() for value in values for word in value.split(","))
    return tuple(dict.fromkeys(word for word in words if word))


def read_regions(values: Iterable[str]) -> tuple[str, ...]:
    """Regions in the spelling of hubs: `united_states`."""
    return tuple(_SEPARATORS.sub("_", word.lower()) for word in split_list(values))


def fetch_offers(hub: HubClient, query: OfferQuery) -> list[GpuOffer]:
    """Every machine and cluster in the requested regions and near the requested disks.

    The rest is left to `filter_offers`, which matches names leniently and can list alternatives.
    """
    query = OfferQuery(regions=query.regions, disks=query.disks)
    return [*hub.availability.gpus(query), *hub.availability.multi_node(query)]


def filter_offers(offers: Sequence[GpuOffer], query: OfferQuery) -> list[GpuOffer]:
    """The matching offers, cheapest first, without duplicates."""
    types = match_types({offer.gpu_type for offer in offers}, query.gpu_type)
    found: dict[tuple[str, bool], GpuOffer] = {}
    for offer in sorted(offers, key=price_key):
        if offer.gpu_type in types and _fits(offer, query):
            found.setdefault((offer_id(offer), bool(offer.is_spot)), offer)
    return list(found.values())


def _fits(offer: GpuOffer, query: OfferQuery) -> bool:
    """Whether an offer matches, except for its type, which can only be matched among all."""
    price = offer.prices.price
    return (
        query.gpu_count in (None, offer.gpu_count)
        and _same(query.socket, offer.socket)
        and _same(query.provider, offer.provider)
        and (query.max_price is None or (price is not None and price <= query.max_price))
        and query.spot in (None, bool(offer.is_spot))
    )


def price_key(offer: GpuOffer) -> tuple[float, int, str]:
    """A sort key; offers without a price come last."""
    price = offer.prices.price
    return (inf if price is None else price, offer.gpu_count, offer_id(offer))


def match_types(there: Iterable[str], word: str | None) -> set[str]:
    """The types that a word means: an exact match, else all that begin with it.

    Case and separators are ignored, and name parts match only as a whole: `h100` is H100_80GB and
    `rtx 4090` RTX4090_24GB, but `A10` is not A100_80GB.
    """
    names = set(there)
    if word is None:
        return names
    wanted = _letters(word)
    same = {name for name in names if _letters(name) == wanted}
    return same or {name for name in names if wanted in accumulate(_parts(name))}


def suggest_types(there: Iterable[str], word: str) -> list[str]:
    """Types that `word` may have meant, nearest first."""
    letters: dict[str, str] = {_letters(name): name for name in sorted(there)}
    wanted = _letters(word)
    inside = [name for letter, name in letters.items() if wanted and wanted in letter]
    close = difflib.get_close_matches(wanted, letters, n=3, cutoff=_CLOSE)
    return list(dict.fromkeys([*inside, *(letters[each] for each in close)]))[:3]


def _same(wanted: str | None, there: str | None) -> bool:
    return wanted is None or wanted.casefold() == (there or "").casefold()


def _parts(name: str) -> list[str]:
    return [part for part in _SEPARATORS.split(name.upper()) if part]


def _letters(name: str) -> str:
    return "".join(_parts(name))
