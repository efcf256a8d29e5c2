"""Choose the offer for a pod: the named one, else the cheapest that fits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.core.formatting import first_few, pluralize
from prime_cli.pods.formatting import gpu_words, hourly
from prime_cli.pods.offer_rows import place_of
from prime_cli.pods.offers import (
    filter_offers,
    match_types,
    offer_id,
    price_key,
    suggest_types,
)
from prime_cli.wire.offers import GpuOffer, OfferQuery

_IMAGES_WITHOUT_VARIABLES = frozenset({"ubuntu_22_cuda_12"})
_PROVIDERS_WITHOUT_VARIABLES = frozenset({"runpod"})
"""Left out for pods with environment variables, as in the official client."""


@dataclass(frozen=True)
class OfferChoice:
    """The chosen offer, and a sentence that says why."""

    offer: GpuOffer
    why: str


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


def choose_cheapest(offers: Sequence[GpuOffer], wanted: OfferQuery) -> OfferChoice:
    """The cheapest offer that fits; a spot machine only if requested.

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
    return OfferChoice(offer, f"Selected {offer_id(offer)}, {offer_title(offer)}: {of_how_many}")


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
