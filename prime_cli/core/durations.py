"""Spans of time as people write them: `30d`, `12h`."""

import re

from prime_cli.core.errors import UsageError

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 24 * 3600, "w": 7 * 24 * 3600}
_PAIRS = (("d", "h"), ("h", "m"), ("m", "s"))
_SPAN = re.compile(r"([0-9]{1,9})([smhdw])")


def parse_duration(text: str) -> int:
    """The seconds of `45s`, `90m`, `12h`, `30d` or `2w`; raises UsageError."""
    found = _SPAN.fullmatch(text.strip().lower())
    if found is None:
        raise UsageError(
            f"`{text[:80]}` is not a span of time", hint="write it as 45s, 90m, 12h, 30d or 2w"
        )
    return int(found[1]) * _SECONDS[found[2]]


def shown_span(seconds: float) -> str:
    """A span in its two largest units: `2d 3h`, `1h 20m`, `45s`."""
    left = max(0, int(seconds))
    if left < _SECONDS["m"]:
        return f"{left}s"
    large, small = next(pair for pair in _PAIRS if left >= _SECONDS[pair[0]])
    count, rest = divmod(left, _SECONDS[large])
    more = rest // _SECONDS[small]
    return f"{count}{large} {more}{small}" if more else f"{count}{large}"
