"""Charts as SVG, each with its numbers in a table behind it.

pygal, which is well kept, is not used: it writes a style sheet and a script into each drawing, and
the pages' Content-Security-Policy forbids both; it has no bands around lines and needs lxml for
tables. Colours are those of `static/charts.css`. Numbers that are not finite, or larger than
`LARGEST`, are left out.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import NamedTuple

from prime_cli.core.formatting import pluralize
from prime_cli.runs.rows import LARGEST

COLOURS = 6
"""Series beyond these share colours and dashes."""
_WIDTH, _HEIGHT = 640, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 26, 12, 54
_TICKS = 6
_BINS = 20
_LONGEST_LABEL = 12
_MOST_POINTS = 200
"""Points of a drawn curve; those of longer ones are averaged."""
_MOST_ROWS, _ROWS_OF_ONE = 60, 20
"""Of the table behind curves, for the same reason: a training has twenty charts on its page."""
_MOST_DOTS = 1000
_TINY = 1e-90
_FLAT = 1e-9
"""The part of its size by which an axis must reach beyond its start."""


class Point(NamedTuple):
    """A point of a curve, and the interval around it, if any."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


class Curve(NamedTuple):
    """A line through points, which are in the order of `x`."""

    name: str
    points: Sequence[Point]


class Dot(NamedTuple):
    """One thing among others; `path` is where its link leads, already quoted."""

    x: float
    y: float
    label: str
    path: str | None = None


def draw_histogram(values: Iterable[float], title: str, *, bins: int = _BINS) -> str:
    """A figure with the number of values in each of `bins` equal parts of their range."""
    known = [value for value in values if abs(value) <= LARGEST]
    if not known:
        return _empty(title)
    least, most = min(known), max(known)
    is_one = most - least <= _TINY  # a smaller range has no parts
    counts = _count(known, least, most, bins) if not is_one else [len(known)]
    across, up = Axis.over(least, most), Axis(0, max(counts))
    edges = [least + (most - least) * place / bins for place in range(bins + 1)]
    if is_one:
        reach = (across.high - across.low) / (2 * _BINS)
        edges = [least - reach, least + reach]
    parts = list(zip(edges, edges[1:], counts, strict=False))
    bars = "".join(_bar(across, up, *part) for part in parts)
    words = f"{pluralize(len(known), 'value')} from {_text(least)} to {_text(most)}"
    rows = [(_text(low), _text(high), f"{count:,}") for low, high, count in parts]
    if is_one:
        rows = [(_text(least), _text(most), f"{len(known):,}")]
    return _figure(title, words, _frame(across, up) + bars, ("From", "To", "Count"), rows)


def draw_curves(
    curves: Sequence[Curve],
    title: str,
    x: str = "Step",
    y: str = "",
    names: Sequence[str] = (),
) -> str:
    """A figure with lines, each with a band where its points have intervals.

    With `names`, each `x` is the place of one of them, which stands instead of a number.
    """
    whole = [Curve(each.name, _drawn(each.points)) for each in curves]
    whole = [each for each in whole if each.points]
    if not whole:
        return _empty(title)
    known = [Curve(each.name, _averaged(each.points, _MOST_POINTS)) for each in whole]
    most = max(_MOST_ROWS // len(whole), _ROWS_OF_ONE)
    listed = [Curve(each.name, _averaged(each.points, most)) for each in whole]
    points = [point for each in known for point in each.points]
    across = Axis.over(min(p.x for p in points), max(p.x for p in points))
    ends = [end for p in points for end in (p.y, p.low, p.high) if end is not None]
    up = Axis.over(min(ends), max(ends), margin=0.05)
    lines = "".join(_curve(across, up, each, number) for number, each in enumerate(known))
    body = _frame(across, up, x, names) + lines
    rows = [
        (
            each.name,
            _place_name(p.x, names),
            _text(p.y),
            _text(p.low),
            _text(p.high),
        )
        for each in listed
        for p in each.points
    ]
    ends_at = [(each.name, f"ends at {_text(each.points[-1].y)}") for each in whole]
    is_one = len(known) == 1 and known[0].name == title
    last = ends_at[0][1] if is_one else ", ".join(map(" ".join, ends_at))
    legend = _legend([each.name for each in known]) if len(known) > 1 else ""
    heads = ("Curve", x, y or "Value", "Low", "High")
    return _figure(title, last, body, heads, rows, legend)


def draw_dots(dots: Sequence[Dot], title: str, x: str, y: str) -> str:
    """A figure with the first thousand `dots`; each says its label, and may be a link."""
    known = [dot for dot in dots if _is_drawn(dot.x) and _is_drawn(dot.y)][:_MOST_DOTS]
    if not known:
        return _empty(title)
    across = Axis.over(min(dot.x for dot in known), max(dot.x for dot in known), margin=0.05)
    up = Axis.over(min(dot.y for dot in known), max(dot.y for dot in known), margin=0.05)
    drawn = "".join(_dot(across, up, dot) for dot in known)
    words = pluralize(len(known), "point")
    if len(known) < len(dots):
        words += f" of {len(dots):,}"
    rows = [(dot.label, _text(dot.x), _text(dot.y)) for dot in known]
    return _figure(title, words, _frame(across, up, x) + drawn, ("", x, y), rows)


# --- Axes ---


@dataclass(frozen=True)
class Axis:
    """The range of an axis; `low` is below `high`."""

    low: float
    high: float

    @classmethod
    def over(cls, low: float, high: float, *, margin: float = 0.0) -> "Axis":
        """The range from `low` to `high`, widened by a part of it, or until it is one."""
        size = max(abs(low), abs(high))
        if high - low <= max(size * _FLAT, _TINY):
            reach = size / 2 if size > _TINY else 0.5
            return cls(low - reach, high + reach)
        reach = (high - low) * margin
        return cls(low - reach, high + reach)

    def part(self, value: float) -> float:
        """Where `value` is, from 0 to 1."""
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)

    def ticks(self) -> list[float]:
        """Round numbers in the range, about `_TICKS` of them."""
        span = (self.high - self.low) / _TICKS
        power = 10.0 ** math.floor(math.log10(span))
        step = next(power * each for each in (1, 2, 5, 10, 20) if power * each >= span)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [number * step for number in range(first, last + 1)]


def _left(axis: Axis, value: float) -> float:
    return _LEFT + axis.part(value) * (_WIDTH - _LEFT - _RIGHT)


def _down(axis: Axis, value: float) -> float:
    return _HEIGHT - _BOTTOM - axis.part(value) * (_HEIGHT - _TOP - _BOTTOM)


def _frame(across: Axis, up: Axis, x: str = "", names: Sequence[str] = ()) -> str:
    """Both axes with their numbers, `x` below; `names` stand for the numbers from 0 across."""
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    parts = []
    for value in up.ticks():
        at = f"{_down(up, value):.1f}"
        parts.append(f'<line class="rule" x1="{_LEFT}" x2="{right}" y1="{at}" y2="{at}"/>')
        parts.append(
            f'<text x="{_LEFT - 6}" y="{at}" dy="4" text-anchor="end">{_text(value)}</text>'
        )
    for value, label in _labels(across, names):
        at = f"{_left(across, value):.1f}"
        parts.append(f'<text x="{at}" y="{bottom + 20}" text-anchor="middle">{label}</text>')
    parts.append(f'<line class="axis" x1="{_LEFT}" x2="{right}" y1="{bottom}" y2="{bottom}"/>')
    parts.append(
        f'<text x="{right}" y="{_HEIGHT - 8}" text-anchor="end">{escape(_short(x))}</text>'
    )
    return "".join(parts)


def _labels(across: Axis, names: Sequence[str]) -> Iterator[tuple[float, str]]:
    """Where a label is below the axis; of many names every second, third or so has one."""
    if not names:
        yield from ((value, _text(value)) for value in across.ticks())
        return
    step = -(-len(names) // _TICKS)
    for place in range(0, len(names), step):
        yield place, escape(_short(names[place], _LONGEST_LABEL))


def _place_name(x: float, names: Sequence[str]) -> str:
    return names[round(x)] if names else _text(x)


# --- What is drawn ---


def _count(values: Sequence[float], least: float, most: float, bins: int) -> list[int]:
    scale = bins / (most - least)
    found = Counter([int((value - least) * scale) for value in values])
    last = sum(count for place, count in found.items() if place >= bins - 1)
    return [*(found[place] for place in range(bins - 1)), last]


def _bar(across: Axis, up: Axis, low: float, high: float, count: int) -> str:
    if not count:
        return ""
    left, right, top = _left(across, low), _left(across, high), _down(up, count)
    height = max(_HEIGHT - _BOTTOM - top, 1)
    return (
        f'<rect class="c0" x="{left + 0.5:.1f}" y="{_HEIGHT - _BOTTOM - height:.1f}" '
        f'width="{max(right - left - 1, 1):.1f}" height="{height:.1f}">'
        f"<title>{_text(low)} to {_text(high)}: {count:,}</title></rect>"
    )


def _curve(across: Axis, up: Axis, curve: Curve, number: int) -> str:
    kind = f"c{number % COLOURS}"
    line = " ".join(_place(across, up, p.x, p.y) for p in curve.points)
    name = escape(curve.name)
    if len(curve.points) == 1:
        line = f"{line} {line}"  # a round cap makes it a dot
    return (
        _band(across, up, curve.points, kind)
        + f'<polyline class="line {kind}" points="{line}"><title>{name}</title></polyline>'
    )


def _band(across: Axis, up: Axis, points: Sequence[Point], kind: str) -> str:
    """Around the points with intervals; a whisker where there is only one."""
    known = [(p.x, p.low, p.high) for p in points if p.low is not None and p.high is not None]
    if not known:
        return ""
    above = [_place(across, up, x, high) for x, _, high in known]
    below = [_place(across, up, x, low) for x, low, _ in reversed(known)]
    if len(known) == 1:
        return f'<polyline class="line {kind}" points="{above[0]} {below[0]}"/>'
    return f'<polygon class="band {kind}" points="{" ".join((*above, *below))}"/>'


def _dot(across: Axis, up: Axis, dot: Dot) -> str:
    title = f"{dot.label}: {_text(dot.x)}, {_text(dot.y)}"
    circle = (
        f'<circle class="c0" cx="{_left(across, dot.x):.1f}" cy="{_down(up, dot.y):.1f}" r="5">'
        f"<title>{escape(title)}</title></circle>"
    )
    if dot.path is None:
        return circle
    return f'<a href="{escape(dot.path)}" aria-label="{escape(dot.label)}">{circle}</a>'


def _place(across: Axis, up: Axis, x: float, y: float) -> str:
    return f"{_left(across, x):.1f},{_down(up, y):.1f}"


def _drawn(points: Sequence[Point]) -> list[Point]:
    return [_with_interval(point) for point in points if _is_drawn(point.x) and _is_drawn(point.y)]


def _averaged(points: Sequence[Point], most: int) -> Sequence[Point]:
    """At most so many points."""
    if len(points) <= most:
        return points
    bounds = [len(points) * place // most for place in range(most + 1)]
    return [_average(points[low:high]) for low, high in pairwise(bounds)]


def _with_interval(point: Point) -> Point:
    if _is_drawn(point.low) and _is_drawn(point.high):
        return point
    return Point(point.x, point.y)


def _average(points: Sequence[Point]) -> Point:
    """Their means; the interval reaches around all of theirs."""
    lows = [p.low for p in points if p.low is not None]
    highs = [p.high for p in points if p.high is not None]
    x, y = (math.fsum(p[axis] or 0.0 for p in points) / len(points) for axis in (0, 1))
    return Point(x, y, min(lows, default=None), max(highs, default=None))


def _is_drawn(value: float | None) -> bool:
    return value is not None and abs(value) <= LARGEST  # false for NaN


# --- The figure around it ---


def _figure(
    title: str,
    words: str,
    body: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    legend: str = "",
) -> str:
    label = escape(f"{title}: {words}")
    return (
        f'<figure class="chart"><figcaption><b>{escape(title)}</b> '
        f"<span>{escape(words)}</span></figcaption>"
        f'<svg role="img" aria-label="{label}" viewBox="0 0 {_WIDTH} {_HEIGHT}">'
        f"{body}</svg>{legend}"
        f'<details><summary>As a table</summary><div class="table" tabindex="0">'
        f"{_table(heads, rows)}</div></details></figure>\n"
    )


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Without the columns that are empty in every row."""
    kept = [column for column in range(len(heads)) if any(row[column] for row in rows)]
    head = "".join(f'<th scope="col">{escape(heads[column])}</th>' for column in kept)
    lines = "".join(f"<tr>{''.join(_cells(row, kept))}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"


def _cells(row: Sequence[str], columns: Sequence[int]) -> Iterator[str]:
    return (f"<td>{escape(row[column])}</td>" for column in columns)


def _legend(names: Sequence[str]) -> str:
    items = "".join(
        f'<li><svg viewBox="0 0 24 8" aria-hidden="true">'
        f'<polyline class="line c{number % COLOURS}" points="0,4 24,4"/></svg>{escape(name)}</li>'
        for number, name in enumerate(names)
    )
    return f'<ul class="legend">{items}</ul>'


def _empty(title: str) -> str:
    return f'<p class="faint">{escape(title)}: nothing to draw yet.</p>\n'


def _text(value: float | None) -> str:
    """To four digits; empty for None."""
    return "" if value is None else f"{0.0 if value == 0 else value:.4g}"


def _short(name: str, most: int = 40) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"
