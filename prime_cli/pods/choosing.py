"""Which of the offers a pod is made of: the one that is named, else the cheapest that fits."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import msgspec

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.core.formatting import first_few, pluralize
from prime_cli.pods.listing import gpu_words
from prime_cli.pods.offer_ids import offer_id
from prime_cli.pods.offers import Wanted, by_price, meant_types, narrow, near_types
from prime_cli.pods.prices import hourly
from prime_cli.pods.shown_offers import place_of
from prime_cli.wire.offers import GpuOffer

_IMAGES_WITHOUT_VARIABLES = frozenset({"ubuntu_22_cuda_12"})
_PROVIDERS_WITHOUT_VARIABLES = frozenset({"runpod"})
"""As the official client leaves them out where a pod is to have environment variables."""


@dataclass(frozen=True)
class Choice:
    """The offer that was taken, and a sentence about why."""

    offer: GpuOffer
    why: str


def choose_named(
    offers: Sequence[GpuOffer], wanted: Wanted, *, named: str, cloud: bool
) -> GpuOffer:
    """The offer with the six-letter id, or (`cloud`) the provider's own id, `named`.

    Of several with one id it is the cheapest that is wanted, on demand rather than spot. Raises
    NotFound, and UsageError for an offer that is not what else was asked for.
    """
    ids = [offer.cloud_id if cloud else offer_id(offer) for offer in offers]
    meant = [
        offer for offer, each in zip(offers, ids, strict=True) if each.lower() == named.lower()
    ]
    if not meant:
        raise NotFound(
            f"There is no offer `{named[:80]}` now",
            hint="`prime availability list` shows those there are; offers come and go",
        )
    fitting = narrow(meant, wanted)
    if not fitting:
        raise UsageError(
            f"The offer `{named}` is {title_of(meant[0])}, which is not what the other flags ask",
            hint="leave them out, or leave the id out to take the cheapest that fits",
        )
    return min(fitting, key=lambda offer: (bool(offer.is_spot), by_price(offer)))


def choose_cheapest(offers: Sequence[GpuOffer], wanted: Wanted) -> Choice:
    """The cheapest offer that fits; a machine that may be taken back only where it is asked for.

    Raises NotFound that says what there is instead.
    """
    asked = wanted if wanted.spot else replace(wanted, spot=False)
    fitting = narrow(offers, asked)
    if not fitting:
        if wanted.spot is None and narrow(offers, wanted):
            raise NotFound(
                "All that fits may be taken back at any time (spot)", hint="take one with `--spot`"
            )
        raise why_none(offers, wanted)
    of_how_many = (
        "the only offer that fits"
        if len(fitting) == 1
        else f"the cheapest of {pluralize(len(fitting), 'offer')} that fit"
    )
    offer = fitting[0]
    return Choice(offer, f"Took {offer_id(offer)}, {title_of(offer)}: {of_how_many}")


def why_none(offers: Sequence[GpuOffer], wanted: Wanted) -> NotFound:
    """What to say where nothing fits: the wish that is to blame, and what would do."""
    types = {offer.gpu_type for offer in offers}
    if not offers and (wanted.regions or wanted.disks):
        flag = "--regions" if wanted.regions else "--disks"
        return NotFound(f"Nothing fits `{flag}`", hint="leave it out")
    if not offers:
        return NotFound("There is nothing to rent there now", hint="`--context` names another hub")
    if wanted.gpu_type and not meant_types(types, wanted.gpu_type):
        near = near_types(types, wanted.gpu_type)
        said = f"did you mean {' or '.join(f'`{name}`' for name in near)}?" if near else None
        return NotFound(
            f"There is no `{wanted.gpu_type[:80]}` to rent now",
            hint=said or "`prime availability gpu-types` shows what there is",
        )
    return _to_blame(offers, wanted) or NotFound(
        "No offer fits all that is asked for",
        hint="`prime availability list` shows what there is",
    )


def _to_blame(offers: Sequence[GpuOffer], wanted: Wanted) -> NotFound | None:
    """The one wish without which something would fit, and the values that do."""
    for field in fields(Wanted):
        if field.name in ("gpu_type", "regions", "disks") or getattr(wanted, field.name) is None:
            continue
        without: dict[str, Any] = {field.name: None}
        rest = narrow(offers, replace(wanted, **without))
        if rest:
            flag = f"--{field.name.replace('_', '-')}"
            return NotFound(f"Nothing fits `{flag}`", hint=_instead(field.name, rest))
    return None


def _instead(name: str, rest: Sequence[GpuOffer]) -> str:
    cheapest = min(rest, key=by_price)
    match name:
        case "gpu_count":
            counts = sorted({offer.gpu_count for offer in rest})
            return f"there are machines with {first_few(counts, 8)} of them"
        case "max_price":
            return f"the cheapest is {title_of(cheapest)}"
        case "socket" | "provider":
            there = sorted({getattr(offer, name) or "" for offer in rest} - {""})
            return f"there is {first_few(there, 8)}" if there else f"{name}s are not told"
        case _:
            return "leave it out"


def title_of(offer: GpuOffer) -> str:
    """An offer in a few words: `H100_80GB x8 spot of paper in FI at $9.52/h`."""
    spot = " spot" if offer.is_spot else ""
    provider = f" of {offer.provider}" if offer.provider else ""
    place = f" in {place}" if (place := place_of(offer)) else ""
    gpu = gpu_words(offer.gpu_type, offer.gpu_count)
    return f"{gpu}{spot}{provider}{place} at {hourly(offer.prices.price)}"


def taking_variables(offers: Sequence[GpuOffer]) -> list[GpuOffer]:
    """The offers of the public hub whose pods can have environment variables."""
    found = []
    for offer in offers:
        images = tuple(name for name in offer.images if name not in _IMAGES_WITHOUT_VARIABLES)
        if images and offer.provider not in _PROVIDERS_WITHOUT_VARIABLES:
            found.append(msgspec.structs.replace(offer, images=images))
    return found
