"""Format numbers, sizes, durations and lists for people, and parse them."""

import re
from collections.abc import Sequence

from prime_cli.core.errors import UsageError


def pluralize(count: int, noun: str, plural: str | None = None) -> str:
    """`1 run`, `2 runs`; `plural` if it is not the singular plus `s`."""
    return f"{count} {noun if count == 1 else plural or f'{noun}s'}"


def shorten(text: str, most: int = 300) -> str:
    """`text`, or its first `most` characters and an ellipsis."""
    return text if len(text) <= most else f"{text[:most].rstrip()} …"


def format_range(low: int, high: int) -> str:
    """`3`, or `10-20`."""
    return str(low) if low == high else f"{low}-{high}"


def join_words(words: Sequence[str]) -> str:
    """The words as in a sentence: `a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def first_few(names: Sequence[object], most: int = 3) -> str:
    """The first `most` of `names`, comma-separated, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(str, names[:most])) + more


_BYTE_UNITS = ("B", "kB", "MB", "GB", "TB")
_STEP = 1000


def format_bytes(count: int) -> str:
    """`1.2 GB` for 1_234_567_890: decimal units (SI), as package indexes and disks count."""
    size = float(count)
    for unit in _BYTE_UNITS[:-1]:
        if size < _STEP:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= _STEP
    return f"{size:.1f} {_BYTE_UNITS[-1]}"


def count_text(done: int, total: int | None, unit: str) -> str:
    """How much of it is done, with a unit only for bytes: `231/800`, `3.2 MB`."""
    shown = format_bytes if unit == "bytes" else str
    return shown(done) + (f"/{shown(total)}" if total else "")


_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 24 * 3600, "w": 7 * 24 * 3600}
_PAIRS = (("d", "h"), ("h", "m"), ("m", "s"))
_SPAN = re.compile(r"([0-9]{1,9})([smhdw])")


def parse_duration(text: str) -> int:
    """Seconds in `45s`, `90m`, `12h`, `30d` or `2w`; raises UsageError."""
    found = _SPAN.fullmatch(text.strip().lower())
    if found is None:
        raise UsageError(
            f"`{text[:80]}` is not a duration", hint="write it as 45s, 90m, 12h, 30d or 2w"
        )
    return int(found[1]) * _SECONDS[found[2]]


def format_duration(seconds: float) -> str:
    """A duration in its two largest units: `2d 3h`, `1h 20m`, `45s`."""
    left = max(0, int(seconds))
    if left < _SECONDS["m"]:
        return f"{left}s"
    large, small = next(pair for pair in _PAIRS if left >= _SECONDS[pair[0]])
    count, rest = divmod(left, _SECONDS[large])
    more = rest // _SECONDS[small]
    return f"{count}{large} {more}{small}" if more else f"{count}{large}"
