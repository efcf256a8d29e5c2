"""When an endpoint may be called again, from its headers."""

import re
import time
from collections.abc import Mapping
from datetime import datetime

from prime_cli.core.http import retry_after

_RESET = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
_UNITS = (86400.0, 3600.0, 60.0, 1.0, 0.001)
_EPOCH_SECONDS = 10.0**9
_EPOCH_MILLISECONDS = 10.0**12

_OPENAI = ("x-ratelimit-remaining", "x-ratelimit-reset")
_WHAT = ("requests", "tokens", "input-tokens", "output-tokens")
_PAIRS = {
    **{f"{_OPENAI[0]}-{what}": f"{_OPENAI[1]}-{what}" for what in _WHAT},
    **{
        f"anthropic-ratelimit-{what}-remaining": f"anthropic-ratelimit-{what}-reset"
        for what in _WHAT
    },
    _OPENAI[0]: _OPENAI[1],
    "ratelimit-remaining": "ratelimit-reset",
}
"""The header with the remaining allowance, and the one with its reset."""


def is_rate_header(name: str) -> bool:
    """Whether a header (in lower case) says something here."""
    return name in ("retry-after", "retry-after-ms") or "ratelimit" in name


def asked_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds that Retry-After (or OpenAI's finer retry-after-ms) asks to wait; None without."""
    fine = headers.get("retry-after-ms")
    if fine is not None:
        try:
            return max(0.0, float(fine) / 1000)
        except ValueError:
            pass  # the coarser one may still be read
    return retry_after(headers.get("retry-after"))


def spent_until(headers: Mapping[str, str]) -> float:
    """Seconds until a used-up allowance is refilled; 0 if none is used up.

    Reads OpenAI's `x-ratelimit-remaining-requests` and `-tokens` with their `-reset-`, Anthropic's
    `anthropic-ratelimit-…-remaining` and `-reset`, and the drafts of the IETF.
    """
    waits = [
        read_reset(headers.get(_PAIRS[name], "")) or 0.0
        for name, left in headers.items()
        if name in _PAIRS and _is_used_up(left)
    ]
    return max(waits, default=0.0)


def read_reset(value: str) -> float | None:
    """Seconds until a moment: `6m0s`, `20ms`, `1.5`, an epoch in (milli)seconds, an RFC 3339 date.

    None for anything else; never negative.
    """
    value = value.strip()
    try:
        number = float(value)
    except ValueError:
        found = _RESET.fullmatch(value)
        if value and found:
            parts = zip(found.groups(), _UNITS, strict=True)
            return sum(float(part) * unit for part, unit in parts if part)
        return _until(value)
    if not 0 <= number < float("inf"):
        return None
    if number >= _EPOCH_MILLISECONDS:
        number /= 1000
    return max(0.0, number - time.time()) if number >= _EPOCH_SECONDS else number


def _until(date: str) -> float | None:
    try:
        moment = datetime.fromisoformat(date)
    except ValueError:
        return None
    return max(0.0, moment.timestamp() - time.time()) if moment.tzinfo else None


def _is_used_up(left: str) -> bool:
    try:
        return float(left) <= 0
    except ValueError:
        return False
