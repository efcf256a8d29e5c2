"""The area of a chart: its axes, their numbers and names, and where a point is drawn."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from prime_cli.core.formatting import format_apart

WIDTH, HEIGHT = 640, 288
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 26, 40, 54
TICKS = 6
TINY = 1e-90
_FLAT = 1e-9
"""The part of its size by which an axis must reach beyond its start."""


@dataclass(frozen=True)
class Axis:
    """The range of an axis; `low` is below `high`."""

    low: float
    high: float

    @classmethod
    def over(cls, low: float, high: float, *, margin: float = 0.0) -> "Axis":
        """The range from `low` to `high`, widened by a part of it, or until it is one.

        It does not cross 0 to get wider: nothing costs less.
        """
        size = max(abs(low), abs(high))
        reach = (high - low) * margin
        if high - low <= max(size * _FLAT, TINY):
            reach = size / 2 if size > TINY else 1.0
        if low >= 0:
            return cls(max(low - reach, 0.0), high + reach)
        return cls(low - reach, high + reach if high > 0 else min(high + reach, 0.0))

    def part(self, value: float) -> float:
        """Where `value` is, from 0 to 1."""
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)

    def ticks(self, *, least: float = 0.0) -> list[float]:
        """Round numbers in the range, about `TICKS` of them, not closer than `least`."""
        span = (self.high - self.low) / TICKS
        power = 10.0 ** math.floor(math.log10(span))
        step = max(next(power * each for each in (1, 2, 5, 10, 20) if power * each >= span), least)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [number * step for number in range(first, last + 1)]


@dataclass(frozen=True)
class Plot:
    """Two axes, and what they are called."""

    across: Axis
    up: Axis
    x: str = ""
    y: str = ""

    def left(self, value: float) -> float:
        """How far from the left `value` is drawn."""
        return _LEFT + self.across.part(value) * (WIDTH - _LEFT - _RIGHT)

    def down(self, value: float) -> float:
        """How far from the top `value` is drawn."""
        return self.bottom - self.up.part(value) * (self.bottom - _TOP)

    @property
    def bottom(self) -> int:
        """How far from the top the axis is."""
        return HEIGHT - _BOTTOM

    def place(self, x: float, y: float) -> str:
        """A point as SVG writes it."""
        return f"{self.left(x):.1f},{self.down(y):.1f}"

    def frame(self, labels: Iterable[tuple[float, str]], ticks: Sequence[float]) -> str:
        """The axes with these `labels` below and numbers at the left, and both names."""
        right = WIDTH - _RIGHT
        rules = "".join(map(self._rule, ticks, format_apart(ticks)))
        below = "".join(
            _label(f"{self.left(value):.1f}", self.bottom + 20, "middle", label)
            for value, label in labels
        )
        return (
            f'{rules}{below}<line class="axis" x1="{_LEFT}" x2="{right}" '
            f'y1="{self.bottom}" y2="{self.bottom}"/>'
            + _label(right, HEIGHT - 8, "end", shorten_label(self.x))
            + _label(4, 16, "start", shorten_label(self.y))
        )

    def _rule(self, value: float, name: str) -> str:
        right = WIDTH - _RIGHT
        at = f"{self.down(value):.1f}"
        return (
            f'<line class="rule" x1="{_LEFT}" x2="{right}" y1="{at}" y2="{at}"/>'
            f'<text x="{_LEFT - 6}" y="{at}" dy="4" text-anchor="end">{name}</text>'
        )


def _label(left: object, down: object, anchor: str, text: str) -> str:
    if not text:
        return ""
    return f'<text x="{left}" y="{down}" text-anchor="{anchor}">{escape(text)}</text>'


def shorten_label(name: str, most: int = 40) -> str:
    """`name`, or its beginning."""
    return name if len(name) <= most else f"{name[: most - 1]}…"
