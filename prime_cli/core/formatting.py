"""Format numbers, sizes, durations and lists for people, and parse them.

Every reward, mean, bound, metric and p value that a person reads is written here, so that one
number is one text in the terminal, on pages and in exports. JSON, CSV and metrics have the numbers.
"""

import math
import re
from collections.abc import Sequence
from decimal import Decimal

from prime_cli.core.errors import UsageError


def pluralize(count: int, noun: str, plural: str | None = None) -> str:
    """`1 run`, `2,000 runs`; `plural` if it is not the singular plus `s`."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def shorten(text: str, most: int = 300) -> str:
    """`text`, or its first `most` characters and an ellipsis."""
    return text if len(text) <= most else f"{text[:most].rstrip()} …"


def format_range(low: int, high: int) -> str:
    """`3`, or `10-20`."""
    return str(low) if low == high else f"{low}-{high}"


def join_words(words: Sequence[str], most: int | None = None) -> str:
    """The words as in a sentence, and how many follow the first `most`: `a, b and 3 more`."""
    if most is not None and len(words) > most:
        words = [*words[:most], f"{len(words) - most} more"]
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def first_few(names: Sequence[object], most: int = 3) -> str:
    """The first `most` of `names`, comma-separated, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(str, names[:most])) + more


_DIGITS = 3
_MOST_DIGITS = 17
"""What tells any two floats apart (IEEE 754, binary64)."""
_SMALL, _LARGE, _HUGE = 0.1, 1e3, 1e15
NOISE = 1e-9
"""Rounding errors are smaller: 0.7 + 0.2 + 0.1 is 0.9999999999999999, and reads 1."""


def format_number(value: float | None, missing: str = "", *, digits: int = _DIGITS) -> str:
    """`0.706`, `5.1e-05` or `12,345.6`, and `missing` for None.

    It has `digits` decimals, as many significant digits below 0.1, and two decimals less from 1000
    on. What is less than all is not written as if it were: 0.99996 is no 1, and 99.99996 no 100.
    """
    if value is None:
        return missing
    size = abs(value)
    if size < _HUGE and math.isclose(value, round(value), rel_tol=NOISE):
        return f"{round(value):,}"
    if not _SMALL <= size < _HUGE:
        # An integer may be larger than any float.
        return f"{Decimal(value) if isinstance(value, int) else value:.{digits}g}"
    decimals = digits if size < _LARGE else max(digits - 2, 1)
    while (text := f"{value:,.{decimals}f}".rstrip("0").rstrip(".")) in ("1", "-1", "100"):
        decimals += 1
    return text


def format_difference(value: float) -> str:
    """A number with its sign: `+0.05`, `-0.05`, and `0`."""
    return _signed(value, format_number(value))


def _signed(value: float, text: str) -> str:
    return f"+{text}" if value > 0 else text


def format_interval(ends: tuple[float, float] | None, *, signed: bool = False) -> str:
    """`0.5 to 0.7`, both ends told apart, with signs `-0.1 to +0.3`; empty for None."""
    texts = format_apart(ends or ())
    return " to ".join(map(_signed, ends or (), texts) if signed else texts)


def format_apart(values: Sequence[float | None], missing: str = "") -> list[str]:
    """Numbers with as many digits as tell those apart that are not equal."""
    for digits in range(_DIGITS, _MOST_DIGITS):
        texts = [format_number(each, missing, digits=digits) for each in values]
        if len(set(texts)) == len(set(values)):
            return texts
    return [missing if each is None else format_exact(each) for each in values]


def format_exact(value: float) -> str:
    """A threshold as a person gave it: `0.99999`, `0.5`, `1`."""
    return repr(value + 0.0).removesuffix(".0")


def format_beside(value: float, limit: float, *, digits: int = _DIGITS) -> str:
    """`value` on its side of `limit`, with as many digits as show it beside `format_exact(limit)`.

    What differs by a rounding error alone reads as the limit.
    """
    if abs(value - limit) <= NOISE:
        return format_exact(limit)
    for each in range(digits, _MOST_DIGITS):
        text = format_number(value, digits=each)
        shown = float(text.replace(",", ""))
        if shown != limit and (shown > limit) == (value > limit):
            return text
    return format_exact(value)


def format_p(p: float, alpha: float = 0.05) -> str:
    """A p value, on its side of `alpha`, the level at which it decides."""
    return format_beside(p, alpha)


def format_size(examples: object, rollouts: object) -> str:
    """`10,000 x 3`, the rollouts of each example after the x, and `?` for what is not known."""
    known = (examples, rollouts)
    return " x ".join(f"{each:,}" if isinstance(each, int) else str(each or "?") for each in known)


def format_share(part: float, *, digits: int = 1) -> str:
    """`12.5%` for 0.125; only all of it is `100%`, and only nothing `0%`."""
    return f"{format_number(100 * part, digits=digits)}%"


def format_usd(amount: float | None, missing: str = "") -> str:
    """An amount in USD with two decimals, or more where two significant digits need them."""
    if amount is None:
        return missing
    zeros = -math.floor(math.log10(amount)) if amount > 0 else 0
    return f"${amount:,.{max(2, zeros + 1)}f}"


def format_cap(amount: float) -> str:
    """An amount in USD that is a limit, with all of its digits: `$5.00`, `$0.9999`."""
    text = format_usd(amount)
    return text if float(text[1:].replace(",", "")) == amount else f"${format_exact(amount)}"


_BYTE_UNITS = ("B", "kB", "MB", "GB", "TB")


def format_bytes(count: int) -> str:
    """`1.2 GB` for 1_234_567_890: decimal units (SI), as package indexes and disks count."""
    power = min((len(str(count)) - 1) // 3, len(_BYTE_UNITS) - 1)
    return f"{count / 1000**power:.{min(power, 1)}f} {_BYTE_UNITS[power]}"


def count_text(done: int, total: int | None, unit: str) -> str:
    """How much of it is done, with a unit only for bytes: `231/1,800`, `3.2 MB`."""
    shown = format_bytes if unit == "bytes" else "{:,}".format
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
