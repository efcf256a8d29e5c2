"""Charts as SVG, each with its numbers in a table behind it.

pygal, which is well kept, is not used: it writes a style sheet and a script into each drawing, and
the pages' Content-Security-Policy forbids both; it has no bands around lines and needs lxml for
tables. Colours are those of `static/charts.css`. Numbers that are not finite, or larger than
`LARGEST`, are left out.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

from prime_cli.core.formatting import format_apart, format_number, pluralize
from prime_cli.pages.plot import (
    HEIGHT,
    TICKS,
    TINY,
    WIDTH,
    Axis,
    Plot,
    shorten_label,
)
from prime_cli.runs.rows import LARGEST

COLOURS = 6
"""Series beyond these share colours and dashes."""
_BINS = 20
_LONGEST_LABEL = 12
_ONE_WIDTH = 28
"""Of the bar of equal values."""
_MOST_POINTS = 200
"""Points of a drawn curve; those of longer ones are averaged."""
_MOST_ROWS, _ROWS_OF_ONE = 60, 20
"""Of the table behind curves, for the same reason: a training has twenty charts on its page."""
_MOST_DOTS = 1000


class Point(NamedTuple):
    """A point of a curve, and the interval around it, if any."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


class Curve(NamedTuple):
    """Points in the order of `x`: on a line with a band, or each for itself with a whisker."""

    name: str
    points: Sequence[Point]
    is_line: bool = True


class Dot(NamedTuple):
    """One thing among others; `path` is where its link leads, already quoted."""

    x: float
    y: float
    label: str
    path: str | None = None


class _Bar(NamedTuple):
    """The number of values from `low` to `high`."""

    low: float
    high: float
    number: int


def draw_histogram(values: Iterable[float], title: str, *, bins: int = _BINS) -> str:
    """A figure with the number of values in each of `bins` equal parts of their range."""
    known = [value for value in values if abs(value) <= LARGEST]
    if not known:
        return _empty(title)
    least, most = min(known), max(known)
    if most - least <= TINY:  # a smaller range has no parts
        bars = [_Bar(least, most, len(known))]
        reach = max(abs(least), 1.0) / 2
        across = Axis(least - reach, least + reach)
        labels = [(least, format_number(least))]
    else:
        bars = _count(known, least, most, bins)
        across = Axis(least, most)
        labels = _numbers(across)
    plot = Plot(across, Axis(0, max(bar.number for bar in bars)), y="Count")
    body = plot.frame(labels, plot.up.ticks(least=1)) + "".join(_bar(plot, bar) for bar in bars)
    low, high = format_number(least), format_number(most)
    span = f"of {low}" if low == high else f"from {low} to {high}"
    words = f"{pluralize(len(known), 'value')} {span}"
    rows = [(format_number(low), format_number(high), f"{number:,}") for low, high, number in bars]
    return _figure(title, words, body, _table(("From", "To", "Count"), rows))


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
    whole = [each._replace(points=_drawn(each.points)) for each in curves]
    whole = [each for each in whole if each.points]
    if not whole:
        return _empty(title)
    known = _averaged(whole, _MOST_POINTS)
    plot = _plot_of([point for each in known for point in each.points], x, y)
    are_whole = all(p.x % 1 == 0 for each in whole for p in each.points)
    labels = _names(names) if names else _numbers(plot.across, least=float(are_whole))
    lines = "".join(_curve(plot, each, number) for number, each in enumerate(known))
    body = plot.frame(labels, plot.up.ticks()) + lines
    listed = _averaged(whole, max(_MOST_ROWS // len(whole), _ROWS_OF_ONE))
    rows = [
        (each.name, names[round(p.x)] if names else format_number(p.x), *map(format_number, p[1:]))
        for each in listed
        for p in each.points
    ]
    table = _table(("Curve", x, y or "Value", "Low", "High"), rows)
    legend = _legend(known) if len(known) > 1 else ""
    return _figure(title, _endings(whole, title), body, table, legend, _averages(whole, listed))


def _plot_of(points: Sequence[Point], x: str, y: str) -> Plot:
    across = Axis.over(min(p.x for p in points), max(p.x for p in points))
    ends = [end for p in points for end in (p.y, p.low, p.high) if end is not None]
    return Plot(across, Axis.over(min(ends), max(ends), margin=0.05), x, y)


def _endings(curves: Sequence[Curve], title: str) -> str:
    """Where each curve ends; one that is called as the chart needs no name."""
    ends = [(each.name, f"ends at {format_number(each.points[-1].y)}") for each in curves]
    if len(ends) == 1 and ends[0][0] == title:
        return ends[0][1]
    return ", ".join(map(" ".join, ends))


def _averages(whole: Sequence[Curve], listed: Sequence[Curve]) -> str:
    """What the rows of the table are, unless each is a point."""
    points, rows = (sum(len(each.points) for each in curves) for curves in (whole, listed))
    return f": {rows:,} averages of {points:,} points" if rows < points else ""


def draw_dots(dots: Sequence[Dot], title: str, x: str, y: str) -> str:
    """A figure with the first thousand `dots`; each says its label, and may be a link."""
    known = [dot for dot in dots if _is_drawn(dot.x) and _is_drawn(dot.y)][:_MOST_DOTS]
    if not known:
        return _empty(title)
    across = Axis.over(min(dot.x for dot in known), max(dot.x for dot in known), margin=0.05)
    up = Axis.over(min(dot.y for dot in known), max(dot.y for dot in known), margin=0.05)
    plot = Plot(across, up, x, y)
    drawn = "".join(_dot(plot, dot) for dot in known)
    words = pluralize(len(known), "point")
    if len(known) < len(dots):
        words += f" of {len(dots):,}"
    rows = [(dot.label, format_number(dot.x), format_number(dot.y)) for dot in known]
    body = plot.frame(_numbers(across), up.ticks()) + drawn
    return _figure(title, words, body, _table(("", x, y), rows))


def draw_bar(value: float, interval: tuple[float, float] | None, across: Axis) -> str:
    """A bar from 0 to `value`, with a whisker over its interval, for a cell beside both."""
    zero, end = sorted((across.part(0.0) * 100, across.part(value) * 100))
    bar = f'<rect x="{zero:.1f}" y="3" width="{max(end - zero, 0.5):.1f}" height="8"/>'
    if interval is None:
        return f'<svg viewBox="0 0 100 14" aria-hidden="true">{bar}</svg>'
    low, high = (f"{across.part(each) * 100:.1f}" for each in interval)
    whisker = f'<path d="M{low} 4V10M{low} 7H{high}M{high} 4V10"/>'
    return f'<svg viewBox="0 0 100 14" aria-hidden="true">{bar}{whisker}</svg>'


def _numbers(across: Axis, *, least: float = 0.0) -> list[tuple[float, str]]:
    """The labels of an axis of numbers, not closer than `least`: no step is half a step."""
    ticks = across.ticks(least=least)
    return list(zip(ticks, format_apart(ticks), strict=True))


def _names(names: Sequence[str]) -> list[tuple[float, str]]:
    """Labels for the numbers from 0; of many names every second, third or so has one."""
    step = -(-len(names) // TICKS)
    places = range(0, len(names), step)
    return [(place, shorten_label(names[place], _LONGEST_LABEL)) for place in places]


# --- What is drawn ---


def _count(values: Sequence[float], least: float, most: float, bins: int) -> list[_Bar]:
    scale = bins / (most - least)
    found = Counter([int((value - least) * scale) for value in values])
    last = sum(count for place, count in found.items() if place >= bins - 1)
    counts = [*(found[place] for place in range(bins - 1)), last]
    edges = [least + (most - least) * place / bins for place in range(bins + 1)]
    return [
        _Bar(low, high, number) for (low, high), number in zip(pairwise(edges), counts, strict=True)
    ]


def _bar(plot: Plot, bar: _Bar) -> str:
    if not bar.number:
        return ""
    left, right, top = plot.left(bar.low), plot.left(bar.high), plot.down(bar.number)
    if right - left < 1:  # equal, or nearly
        left, right = left - _ONE_WIDTH / 2, right + _ONE_WIDTH / 2
    height = max(plot.bottom - top, 1)
    low, high = format_number(bar.low), format_number(bar.high)
    return (
        f'<rect class="c0" x="{left + 0.5:.1f}" y="{plot.bottom - height:.1f}" '
        f'width="{max(right - left - 1, 1):.1f}" height="{height:.1f}">'
        f"<title>{low} to {high}: {bar.number:,}</title></rect>"
    )


def _curve(plot: Plot, curve: Curve, number: int) -> str:
    kind = f"c{number % COLOURS}"
    if not curve.is_line:
        return "".join(_mark(plot, point, curve.name, kind) for point in curve.points)
    line = " ".join(plot.place(p.x, p.y) for p in curve.points)
    name = escape(curve.name)
    if len(curve.points) == 1:
        line = f"{line} {line}"  # a round cap makes it a dot
    return (
        _band(plot, curve.points, kind)
        + f'<polyline class="line {kind}" points="{line}"><title>{name}</title></polyline>'
    )


def _mark(plot: Plot, point: Point, name: str, kind: str) -> str:
    """A point that says what it is, with a whisker where it has an interval."""
    words = f"{name}: {format_number(point.y)} at {format_number(point.x)}"
    if point.low is not None and point.high is not None:
        words += f" ({format_number(point.low)} to {format_number(point.high)})"
    return (
        _band(plot, [point], kind)
        + f'<circle class="{kind}" cx="{plot.left(point.x):.1f}" cy="{plot.down(point.y):.1f}" '
        f'r="4.5"><title>{escape(words)}</title></circle>'
    )


def _band(plot: Plot, points: Sequence[Point], kind: str) -> str:
    """Around the points with intervals; a whisker where there is only one."""
    known = [(p.x, p.low, p.high) for p in points if p.low is not None and p.high is not None]
    if not known:
        return ""
    above = [plot.place(x, high) for x, _, high in known]
    below = [plot.place(x, low) for x, low, _ in reversed(known)]
    if len(known) == 1:
        return f'<polyline class="line whisker {kind}" points="{above[0]} {below[0]}"/>'
    return f'<polygon class="band {kind}" points="{" ".join((*above, *below))}"/>'


def _dot(plot: Plot, dot: Dot) -> str:
    title = f"{dot.label}: {format_number(dot.x)}, {format_number(dot.y)}"
    circle = (
        f'<circle class="c0" cx="{plot.left(dot.x):.1f}" cy="{plot.down(dot.y):.1f}" r="5">'
        f"<title>{escape(title)}</title></circle>"
    )
    if dot.path is None:
        return circle
    return f'<a href="{escape(dot.path)}" aria-label="{escape(dot.label)}">{circle}</a>'


def _drawn(points: Sequence[Point]) -> list[Point]:
    return [_with_interval(point) for point in points if _is_drawn(point.x) and _is_drawn(point.y)]


def _averaged(curves: Sequence[Curve], most: int) -> list[Curve]:
    """The curves with at most so many points each."""
    return [each._replace(points=_fewer(each.points, most)) for each in curves]


def _fewer(points: Sequence[Point], most: int) -> Sequence[Point]:
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
    table: str,
    legend: str = "",
    of_table: str = "",
) -> str:
    label = escape(f"{title}: {words}")
    return (
        f'<figure class="chart"><figcaption><b>{escape(title)}</b> '
        f"<span>{escape(words)}</span></figcaption>"
        f'<svg role="img" aria-label="{label}" viewBox="0 0 {WIDTH} {HEIGHT}">'
        f"{body}</svg>{legend}"
        f'<details><summary>As a table{of_table}</summary><div class="table" tabindex="0">'
        f"{table}</div></details></figure>\n"
    )


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Without the columns that are empty in every row."""
    kept = [column for column in range(len(heads)) if any(row[column] for row in rows)]
    head = "".join(f'<th scope="col">{escape(heads[column])}</th>' for column in kept)
    lines = "".join(f"<tr>{''.join(_cells(row, kept))}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"


def _cells(row: Sequence[str], columns: Sequence[int]) -> Iterator[str]:
    return (f"<td>{escape(row[column])}</td>" for column in columns)


def _legend(curves: Sequence[Curve]) -> str:
    items = "".join(
        f'<li><svg viewBox="0 0 24 8" aria-hidden="true">'
        f"{_sample(each, f'c{number % COLOURS}')}</svg>{escape(each.name)}</li>"
        for number, each in enumerate(curves)
    )
    return f'<ul class="legend">{items}</ul>'


def _sample(curve: Curve, kind: str) -> str:
    if curve.is_line:
        return f'<polyline class="line {kind}" points="0,4 24,4"/>'
    return f'<circle class="{kind}" cx="12" cy="4" r="4"/>'


def _empty(title: str) -> str:
    return f'<p class="faint">{escape(title)}: nothing to draw yet.</p>\n'
