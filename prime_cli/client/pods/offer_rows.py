"""Offers as rows, with the official client's JSON names."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal

import msgspec

from prime_cli.client.pods.listing import UNKNOWN
from prime_cli.client.pods.offers import disk_offer_id, offer_id, price_key
from prime_cli.core.formatting import format_range
from prime_cli.wire.offers import DiskOffer, GpuOffer, Spec, Summary

_COMMUNITY = "community_cloud"
_PRICES = ("communityPrice", "onDemand", "spotPrice")


@dataclass(frozen=True)
class GpuTypeRow:
    """A type of machine, how many GPUs one can have, and its lowest price per hour."""

    gpu_type: str
    gpu_counts: tuple[str, ...]
    cheapest: float | None


class OfferRow(msgspec.Struct, frozen=True, kw_only=True):
    """An offer with the official client's names and texts; prices are in USD per hour."""

    id: str
    cloud_id: str
    gpu_type: str
    gpu_count: int
    socket: str
    provider: str
    location: str
    stock_status: str
    price_per_hour: str
    price_value: float | None
    security: Literal["community", "datacenter"]
    vcpus: str
    memory_gb: str
    disk_gb: str
    gpu_memory: int
    is_spot: bool | None


class DiskOfferRow(msgspec.Struct, frozen=True, kw_only=True):
    """The same of a kind of disks; prices are in USD per GB and hour."""

    short_id: str
    provider: str
    location: str
    stock_status: str
    price: str
    price_value: float | None
    max_size: str
    is_multinode: Literal["Yes", "No"]


def offer_rows(offers: Iterable[GpuOffer], *, group: bool) -> list[OfferRow]:
    """The offers for scripts by price, in USD per hour; `price_value` is None if it is not known.

    `group` merges those with equal provider, place and price, which may differ in vCPUs and memory
    (`8-16`).
    """
    groups: dict[object, list[GpuOffer]] = {}
    for offer in sorted(offers, key=price_key):
        groups.setdefault(_alike(offer) if group else offer_id(offer), []).append(offer)
    return [_shown(alike) for alike in groups.values()]


def disk_offer_rows(offers: Iterable[DiskOffer]) -> list[DiskOfferRow]:
    """The kinds of disks for scripts, cheapest first; `price` is in USD per GB and hour."""
    return [_shown_disk(offer) for offer in sorted(offers, key=_by_disk_price)]


def gpu_type_rows(summary: Summary) -> list[GpuTypeRow]:
    """The types of machines by name. The format of prices is not fully published."""
    return [
        GpuTypeRow(name, tuple(sorted(counts, key=_as_number)), _cheapest(counts.values()))
        for name, counts in sorted(summary.items(), key=lambda item: item[0].replace("_", " "))
    ]


def price_text(price: float | None) -> str:
    """`$1.65`, formatted as in the official client."""
    return UNKNOWN if price is None else f"${price:.2f}"


def _alike(offer: GpuOffer) -> tuple[object, ...]:
    return (
        offer.provider,
        offer.gpu_type,
        offer.is_spot,
        offer.gpu_count,
        offer.socket,
        offer.country,
        offer.security,
        price_text(offer.prices.price),
    )


def _shown(alike: Sequence[GpuOffer]) -> OfferRow:
    offer = alike[0]
    name = offer.gpu_type.replace("_", " ")
    return OfferRow(
        id=offer_id(offer),
        cloud_id=offer.cloud_id,
        gpu_type=f"{name} (Spot)" if offer.is_spot else name,
        gpu_count=offer.gpu_count,
        socket=offer.socket or UNKNOWN,
        provider=offer.provider or UNKNOWN,
        location=offer.country or UNKNOWN,
        stock_status=offer.stock_status,
        price_per_hour=price_text(offer.prices.price),
        price_value=offer.prices.price,
        security="community" if offer.security == _COMMUNITY else "datacenter",
        vcpus=_range([each.vcpu for each in alike]),
        memory_gb=_range([each.memory for each in alike]),
        disk_gb=_open_end(offer.disk),
        gpu_memory=offer.gpu_memory,
        is_spot=offer.is_spot,
    )


def _range(specs: Sequence[Spec]) -> str:
    counts = [spec.default_count for spec in specs if spec.default_count is not None]
    if not counts:
        return UNKNOWN
    return format_range(min(counts), max(counts))


def _open_end(spec: Spec) -> str:
    if spec.default_count is None:
        return UNKNOWN
    more = spec.max_count not in (None, spec.default_count)
    return f"{spec.default_count}+" if more else str(spec.default_count)


def _shown_disk(offer: DiskOffer) -> DiskOfferRow:
    spec, place = offer.spec, offer.country or UNKNOWN
    return DiskOfferRow(
        short_id=disk_offer_id(offer),
        provider=offer.provider,
        location=f"{place} ({offer.data_center})" if offer.data_center else place,
        stock_status=offer.stock_status,
        price=UNKNOWN if spec.price_per_unit is None else f"${spec.price_per_unit:.8f}",
        price_value=spec.price_per_unit,
        max_size=UNKNOWN if spec.max_count is None else str(spec.max_count),
        is_multinode="Yes" if offer.is_multinode else "No",
    )


def _by_disk_price(offer: DiskOffer) -> tuple[float, str]:
    price = offer.spec.price_per_unit
    return (inf if price is None else price, disk_offer_id(offer))


def _cheapest(counts: Iterable[object]) -> float | None:
    found = [
        float(price)
        for each in counts
        if isinstance(each, dict) and isinstance(cheapest := each.get("cheapest"), dict)
        for name in _PRICES
        if isinstance(price := cheapest.get(name), int | float)
    ]
    return min(found, default=None)


def _as_number(count: str) -> tuple[int, str]:
    return (int(count[:9]) if count.isdecimal() else 0, count)
