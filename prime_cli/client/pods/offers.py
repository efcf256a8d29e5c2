"""What can be rented: fetched from the hub, filtered, selected for a pod, and listed."""

import difflib
import hashlib
import re
from collections.abc import Iterable, Sequence
from itertools import accumulate
from math import inf
from typing import Any

import msgspec

from prime_cli.client.api.client import HubClient
from prime_cli.client.pods.listing import UNKNOWN, gpu_words, hourly, place_of
from prime_cli.core.errors import NotFound, UsageError
from prime_cli.core.formatting import first_few, pluralize
from prime_cli.wire.offers import DiskOffer, GpuOffer, OfferQuery

_LETTERS = 6


def offer_id(offer: GpuOffer) -> str:
    """The first six hex digits of an MD5 over what tells machines apart, as releases 0.3.20 to 0.18
    of the official client compute it; it names and protects nothing.
    """
    location = f"{offer.country or UNKNOWN} - {offer.data_center or UNKNOWN}"
    parts = (
        offer.cloud_id,
        offer.gpu_type,
        offer.socket or UNKNOWN,
        location,
        offer.provider or UNKNOWN,
        offer.memory.default_count,
        offer.vcpu.default_count,
        offer.gpu_count,
    )
    return _short_digest("-".join(str(part) for part in parts))


def disk_offer_id(offer: DiskOffer) -> str:
    """The six digits of a disk offer; missing values are the word `None`."""
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


# --- Selection ---

_IMAGES_WITHOUT_VARIABLES = frozenset({"ubuntu_22_cuda_12"})
_PROVIDERS_WITHOUT_VARIABLES = frozenset({"runpod"})
"""Left out for pods with environment variables, as in the official client."""


def choose_named(
    offers: Sequence[GpuOffer], wanted: OfferQuery, *, named: str, cloud: bool
) -> GpuOffer:
    """The offer with the six-letter id, or (`cloud`) the provider's own id, `named`.

    If several share an id, the cheapest that fits, on demand rather than spot. Raises NotFound, and
    UsageError for an offer that does not match the other options.
    """
    ids = [offer.cloud_id if cloud else offer_id(offer) for offer in offers]
    meant = [
        offer for offer, each in zip(offers, ids, strict=True) if each.lower() == named.lower()
    ]
    if not meant:
        raise NotFound(
            f"No offer `{named[:80]}` now",
            hint="list current offers with `prime availability list`",
        )
    fitting = filter_offers(meant, wanted)
    if not fitting:
        raise UsageError(
            f"The offer `{named}` is {offer_title(meant[0])}, which does not match the other flags",
            hint="omit them, or omit the id to use the cheapest match",
        )
    return min(fitting, key=lambda offer: (bool(offer.is_spot), price_key(offer)))


def choose_cheapest(offers: Sequence[GpuOffer], wanted: OfferQuery) -> tuple[GpuOffer, str]:
    """The cheapest offer that fits, and why; a spot machine only if requested.

    Raises NotFound that lists what is available instead.
    """
    query = wanted if wanted.spot else msgspec.structs.replace(wanted, spot=False)
    fitting = filter_offers(offers, query)
    if not fitting:
        if wanted.spot is None and filter_offers(offers, wanted):
            raise NotFound(
                "All matching offers are spot and may be reclaimed at any time",
                hint="accept one with `--spot`",
            )
        raise explain_no_offer(offers, wanted)
    of_how_many = (
        "the only match"
        if len(fitting) == 1
        else f"the cheapest of {pluralize(len(fitting), 'offer')} that fit"
    )
    offer = fitting[0]
    return offer, f"Selected {offer_id(offer)}, {offer_title(offer)}: {of_how_many}"


def explain_no_offer(offers: Sequence[GpuOffer], wanted: OfferQuery) -> NotFound:
    """What to say if nothing fits: the option to blame, and values that would work."""
    types = {offer.gpu_type for offer in offers}
    if not offers and (wanted.regions or wanted.disks):
        flag = "--regions" if wanted.regions else "--disks"
        return NotFound(f"No offer matches `{flag}`", hint="omit it")
    if not offers:
        return NotFound(
            "No machines are available there now", hint="choose another hub with `--context`"
        )
    if wanted.gpu_type and not match_types(types, wanted.gpu_type):
        near = suggest_types(types, wanted.gpu_type)
        suggestion = f"did you mean {' or '.join(f'`{name}`' for name in near)}?" if near else None
        return NotFound(
            f"No `{wanted.gpu_type[:80]}` is available now",
            hint=suggestion or "list types with `prime availability gpu-types`",
        )
    return _excluding_option(offers, wanted) or NotFound(
        "No offer matches all options",
        hint="list offers with `prime availability list`",
    )


def _excluding_option(offers: Sequence[GpuOffer], wanted: OfferQuery) -> NotFound | None:
    """The one option without which something would fit, and the values that do."""
    for name in ("gpu_count", "socket", "provider", "max_price", "spot"):
        if getattr(wanted, name) is None:
            continue
        without: dict[str, Any] = {name: None}
        rest = filter_offers(offers, msgspec.structs.replace(wanted, **without))
        if rest:
            flag = f"--{name.replace('_', '-')}"
            return NotFound(f"No offer matches `{flag}`", hint=_instead(name, rest))
    return None


def _instead(name: str, rest: Sequence[GpuOffer]) -> str:
    cheapest = min(rest, key=price_key)
    match name:
        case "gpu_count":
            counts = sorted({offer.gpu_count for offer in rest})
            return f"there are machines with {first_few(counts, 8)} of them"
        case "max_price":
            return f"the cheapest is {offer_title(cheapest)}"
        case "socket" | "provider":
            there = sorted({getattr(offer, name) or "" for offer in rest} - {""})
            return f"there is {first_few(there, 8)}" if there else f"{name}s are not told"
        case _:
            return "omit it"


def offer_title(offer: GpuOffer) -> str:
    """An offer in brief: `H100_80GB x8 spot of paper in FI at $9.52/h`."""
    spot = " spot" if offer.is_spot else ""
    provider = f" of {offer.provider}" if offer.provider else ""
    place = f" in {place}" if (place := place_of(offer)) else ""
    gpu = gpu_words(offer.gpu_type, offer.gpu_count)
    return f"{gpu}{spot}{provider}{place} at {hourly(offer.prices.price)}"


def accepting_variables(offers: Sequence[GpuOffer]) -> list[GpuOffer]:
    """The offers of the public hub whose pods support environment variables."""
    found = []
    for offer in offers:
        images = tuple(name for name in offer.images if name not in _IMAGES_WITHOUT_VARIABLES)
        if images and offer.provider not in _PROVIDERS_WITHOUT_VARIABLES:
            found.append(msgspec.structs.replace(offer, images=images))
    return found
