"""Format GPUs, places, prices and times of pods and offers."""

from datetime import UTC, datetime

from prime_cli.core.formatting import format_usd
from prime_cli.wire.offers import GpuOffer


def gpu_words(name: str, count: int) -> str:
    """`A100_80GB x2`."""
    return f"{name} x{count}"


def moment(text: str | None) -> datetime | None:
    """The time of an ISO 8601 text, in UTC; None for anything else."""
    try:
        when = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)


def timestamp(text: str) -> str:
    """A hub's time to the second, in UTC, ending in `Z`; invalid ones are unchanged."""
    when = moment(text)
    return text if when is None else f"{when:%Y-%m-%dT%H:%M:%SZ}"


def place_words(country: str | None, data_center: str | None) -> str:
    """`US (US-KS-2)`, or as much of that as is known; empty if nothing is."""
    return f"{country} ({data_center})" if country and data_center else country or data_center or ""


def place_of(offer: GpuOffer) -> str:
    """`US (US-KS-2)`, or as much of that as is known; empty for a local machine."""
    return place_words(offer.country, offer.data_center)


def hourly(price: float | None) -> str:
    """`$1.65/h` for a price in USD, or that it is unknown."""
    return "a price that is not known" if price is None else f"{format_usd(price)}/h"
