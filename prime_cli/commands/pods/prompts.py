"""What a person is asked about a pod, step by step, where flags leave it open."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from prime_cli.core.errors import UsageError
from prime_cli.core.formatting import pluralize
from prime_cli.pods.creation import TEMPLATE, PodOptions
from prime_cli.pods.formatting import hourly, place_of
from prime_cli.pods.offers import explain_no_offer, filter_offers, price_key
from prime_cli.terminal.output import Output
from prime_cli.wire.offers import GpuOffer, OfferQuery, Spec

_MOST_OFFERS = 15


def ask_offer(output: Output, offers: Sequence[GpuOffer], wanted: OfferQuery) -> GpuOffer:
    """Type, then how many, then whose; what leaves no choice is not asked. Raises NotFound."""
    left = filter_offers(offers, wanted)
    if not left:
        raise explain_no_offer(offers, wanted)
    groups = _groups(left, lambda offer: offer.gpu_type, lambda offer: offer.gpu_type)
    if len(groups) > 1:
        left = groups[output.choose("Which GPU?", list(groups), flag="--gpu-type")]
    groups = _groups(
        left, lambda offer: offer.gpu_count, lambda offer: pluralize(offer.gpu_count, "GPU")
    )
    if len(groups) > 1:
        left = groups[output.choose("How many?", list(groups), flag="--gpu-count")]
    left = left[:_MOST_OFFERS]
    if len(left) == 1:
        return left[0]
    titles = _unique([_offer_words(offer) for offer in left])
    return left[titles.index(output.choose("Whose?", titles, flag="--id"))]


def ask_open(output: Output, offer: GpuOffer, options: PodOptions) -> PodOptions:
    """Sizes and the image, where the offer leaves them open and no flag has said them."""
    image = options.image
    images = [name for name in offer.images if name != TEMPLATE]
    if image is None and len(images) > 1:
        image = output.choose("Which image?", images, flag="--image")
    return replace(
        options,
        image=image,
        disk_size=_ask_size(output, "Disk", "GB", offer.disk, options.disk_size, "--disk-size"),
        vcpus=_ask_size(output, "vCPUs", "", offer.vcpu, options.vcpus, "--vcpus"),
        memory=_ask_size(output, "Memory", "GB", offer.memory, options.memory, "--memory"),
    )


def _groups(
    offers: Sequence[GpuOffer], key: Callable[[GpuOffer], object], title: Callable[[GpuOffer], str]
) -> dict[str, list[GpuOffer]]:
    """Offers that are alike, by a title with the lowest price; the cheapest group first."""
    groups: dict[object, list[GpuOffer]] = {}
    for offer in sorted(offers, key=price_key):
        groups.setdefault(key(offer), []).append(offer)
    return {_from_words(title(group[0]), group[0]): group for group in groups.values()}


def _from_words(title: str, cheapest: GpuOffer) -> str:
    price = cheapest.prices.price
    return _one_line(title if price is None else f"{title}, from {hourly(price)}")


def _offer_words(offer: GpuOffer) -> str:
    parts = [
        f"{offer.provider or 'unknown'}{f' in {place}' if (place := place_of(offer)) else ''}",
        offer.socket,
        None if offer.vcpu.default_count is None else f"{offer.vcpu.default_count} vCPUs",
        None if offer.memory.default_count is None else f"{offer.memory.default_count} GB",
        "spot" if offer.is_spot else None,
    ]
    return _one_line(f"{', '.join(filter(None, parts))}: {hourly(offer.prices.price)}")


def _one_line(title: str) -> str:
    """Names are the hub's, and must not look like further lines of ours."""
    return " ".join(title.split())


def _unique(titles: Sequence[str]) -> list[str]:
    """The titles; repeated ones with their place in the list."""
    return [
        title if titles.count(title) == 1 else f"{title} ({place})"
        for place, title in enumerate(titles, start=1)
    ]


def _ask_size(
    output: Output, what: str, unit: str, spec: Spec, wanted: int | None, flag: str
) -> int | None:
    least, most = spec.min_count, spec.max_count
    if wanted is not None or least is None or most is None or least >= most:
        return wanted
    default = least if spec.default_count is None else spec.default_count
    of_unit = f" {unit}" if unit else ""
    answer = output.enter(f"{what}, {least}-{most}{of_unit}?", default=str(default), flag=flag)
    if not answer.isdecimal():
        raise UsageError(f"`{answer[:40]}` is not a number")
    return int(answer[:9])
