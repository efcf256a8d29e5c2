"""The filter of the form above an evaluation's samples, as a hub is asked for it."""

import math
import re

from prime_cli.pages.runs import RunFilter
from prime_cli.wire.evaluations import SampleQuery

SAMPLES_PER_PAGE = 200

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_BOUND = re.compile(rf"(<=|>=|<|>|=|)\s*({_NUMBER})")
_SPAN = re.compile(rf"({_NUMBER})\s*\.\.\s*({_NUMBER})")


def sample_query(filters: RunFilter, page: int) -> SampleQuery | None:
    """What a hub is asked for the filter of the form; None for a reward that is none.

    A hub's bounds are exclusive: those that include their end are the next number.
    """
    text = filters.reward.strip().lower()
    low, high = -math.inf, math.inf
    is_failed = filters.errors or text == "none"
    if span := _SPAN.fullmatch(text):
        low, high = sorted(map(float, span.groups()))
        low, high = math.nextafter(low, -math.inf), math.nextafter(high, math.inf)
    elif bound := _BOUND.fullmatch(text):
        low, high = _range(bound[1], float(bound[2]))
    elif text not in ("", "none"):
        return None
    return SampleQuery(
        limit=SAMPLES_PER_PAGE,
        page=page,
        errors_only=is_failed,
        reward_above=low if math.isfinite(low) else None,
        reward_below=high if math.isfinite(high) else None,
        search=filters.text or None,
    )


def _range(sign: str, limit: float) -> tuple[float, float]:
    """The bounds, exclusive, of the numbers in this relation to `limit`."""
    below, above = math.nextafter(limit, -math.inf), math.nextafter(limit, math.inf)
    ranges = {
        "<": (-math.inf, limit),
        "<=": (-math.inf, above),
        ">": (limit, math.inf),
        ">=": (below, math.inf),
    }
    return ranges.get(sign, (below, above))
