"""How pods are put into cells."""

from collections.abc import Sequence
from datetime import datetime

from prime_cli.core.durations import shown_span
from prime_cli.models.budget import dollars
from prime_cli.pods.listing import ListedPod, moment

_SHORTEST_ID = 8


def short_ids(ids: Sequence[str]) -> list[str]:
    """Each id's beginning that no other of these shares, eight letters at least."""
    size = _SHORTEST_ID
    while len({each[:size] for each in ids}) < len(set(ids)):
        size += 1
    return [each[:size] for each in ids]


def price_words(price: float | None) -> str:
    """An amount in USD; `-` where it is not known."""
    return "-" if price is None else dollars(price)


def stops_in(pod: ListedPod, now: datetime) -> str:
    """The time until a pod's deadline, `overdue` after it, `-` where it has none."""
    when = moment(pod.stop_at)
    if when is None:
        return "-"
    left = (when - now).total_seconds()
    return shown_span(left) if left > 0 else "overdue"
