"""The charts of pages: well-formed, inside their frame, and with every number in their table."""

from collections.abc import Iterator
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from prime_cli.pages.charts import (
    Curve,
    Dot,
    Point,
    draw_bar,
    draw_curves,
    draw_dots,
    draw_histogram,
)
from prime_cli.pages.plot import Axis

NUMBERS = st.floats(allow_nan=True, allow_infinity=True)
NAMES = st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=20)
WIDTH, HEIGHT = 640, 288
DRAWN = set(
    "figure svg line text rect title polyline polygon circle a ul li figcaption details summary "
    "div table thead tbody tr th td b span".split()
)


def parse(figure: str) -> ET.Element:
    """The figure as XML, without what CSP forbids."""
    found = ET.fromstring(figure)
    for each in found.iter():
        assert each.tag not in {"style", "script", "image", "foreignObject"}
        assert not [name for name in each.attrib if name == "style" or name.startswith("on")]
    return found


def places(figure: ET.Element) -> Iterator[tuple[float, float]]:
    """Where anything is drawn in the chart itself."""
    svg = figure.find("svg")
    assert svg is not None
    for each in svg.iter():
        for pair in each.get("points", "").split():
            left, _, down = pair.partition(",")
            yield float(left), float(down)
        if each.tag == "circle":
            yield float(each.attrib["cx"]), float(each.attrib["cy"])
        if each.tag == "rect":
            x, y = float(each.attrib["x"]), float(each.attrib["y"])
            yield x, y
            yield x + float(each.attrib["width"]), y + float(each.attrib["height"])


def rows(figure: ET.Element) -> list[list[str]]:
    """The cells of the table behind it."""
    lines = figure.findall(".//tbody/tr")
    return [[cell.text or "" for cell in line] for line in lines]


def check_inside(figure: ET.Element) -> None:
    for x, y in places(figure):
        assert 0 <= x <= WIDTH + 1
        assert 0 <= y <= HEIGHT


@given(st.lists(NUMBERS, max_size=60), NAMES, st.integers(1, 30))
def test_a_histogram_counts_every_number_that_can_be_drawn(
    values: list[float], title: str, bins: int
) -> None:
    figure = parse(draw_histogram(values, title, bins=bins))

    known = [value for value in values if abs(value) <= 1e100]
    assert sum(int(row[-1].replace(",", "")) for row in rows(figure)) == len(known)
    assert (figure.tag == "figure") == bool(known)
    if known:
        check_inside(figure)


@given(st.lists(st.floats(-1e-89, 1e-89), min_size=1, max_size=9), st.integers(1, 30))
@example([0.0, 1e-307], 20)
@example([0.0, 5e-324, 1e-90], 20)
def test_a_range_without_parts_is_one_bar(values: list[float], bins: int) -> None:
    figure = parse(draw_histogram(values, "Reward", bins=bins))

    assert sum(int(row[-1]) for row in rows(figure)) == len(values)
    check_inside(figure)


def labels(figure: ET.Element, anchor: str) -> list[str]:
    """What stands at the `end` of the left axis, or in the `middle` below the other."""
    return [each.text or "" for each in figure.iterfind(f".//text[@text-anchor='{anchor}']")]


def test_equal_values_are_one_bar_with_the_value_below() -> None:
    figure = parse(draw_histogram([1.0, 1.0, 1.0], "Reward"))

    assert labels(figure, "middle") == ["1"]
    assert figure.findtext("figcaption/span") == "3 values of 1"
    assert len(figure.findall(".//rect")) == 1
    check_inside(figure)


def test_counts_are_whole_numbers() -> None:
    figure = parse(draw_histogram([0.0, 1.0], "Reward"))

    assert labels(figure, "end") == ["0", "1"]


@pytest.mark.parametrize(
    ("last", "expected"), [(2, ["0", "1", "2"]), (1.5, ["0", "0.5", "1", "1.5"])]
)
def test_no_step_is_half_a_step(last: float, expected: list[str]) -> None:
    figure = parse(draw_curves([Curve("reward", [Point(0, 1), Point(last, 2)])], "Reward"))

    assert labels(figure, "middle") == expected


def test_axes_have_names() -> None:
    curve = Curve("large", [Point(0, 0.5), Point(1, 0.6)])
    drawn = {
        "Count": draw_histogram([0.0, 1.0], "Reward"),
        "Mean reward": draw_curves([curve], "By version", "Version", "Mean reward"),
        "Score": draw_dots([Dot(1, 2, "large")], "By cost", "Cost in $", "Score"),
    }

    assert [labels(parse(each), "start") for each in drawn.values()] == [[name] for name in drawn]
    assert labels(parse(drawn["Score"]), "end")[-1] == "Cost in $"


def test_evaluations_are_points_with_whiskers_and_say_their_values() -> None:
    tested = Curve("held out", [Point(0, 0.5, 0.4, 0.6), Point(8, 0.7)], is_line=False)
    figure = parse(
        draw_curves([Curve("in training", [Point(0, 0), Point(8, 1)]), tested], "Reward")
    )

    said = [each.findtext("title") for each in figure.findall(".//circle")]
    assert said == ["held out: 0.5 at 0 (0.4 to 0.6)", "held out: 0.7 at 8", None]
    assert len(figure.findall(".//polyline[@class='line whisker c1']")) == 1


@given(st.lists(st.builds(Dot, st.floats(0, 1e9), st.floats(0, 1e9), NAMES, st.none()), min_size=1))
@example([Dot(0, 0.5, "large"), Dot(0, 0.6, "small")])
def test_no_axis_goes_below_0_for_what_does_not(dots: list[Dot]) -> None:
    figure = parse(draw_dots(dots, "By cost", "Cost in $", "Reward"))

    numbers = [*labels(figure, "middle"), *labels(figure, "end")[:-1]]
    assert min(float(each.replace(",", "")) for each in numbers) >= 0


POINTS = st.builds(Point, NUMBERS, NUMBERS, st.none() | NUMBERS, st.none() | NUMBERS)
CURVES = st.lists(st.builds(Curve, NAMES, st.lists(POINTS, max_size=20), st.booleans()), max_size=8)


@given(CURVES, NAMES)
def test_curves_stay_inside_and_have_a_row_for_each_point(curves: list[Curve], title: str) -> None:
    figure = parse(draw_curves(curves, title, "Step", "Reward"))

    points = [p for curve in curves for p in curve.points if abs(p.x) <= 1e100 >= abs(p.y)]
    assert len(rows(figure)) == len(points)
    if points:
        check_inside(figure)


def test_long_curves_are_averaged_and_keep_their_ends() -> None:
    curve = Curve("reward", [Point(step, step, step - 1, step + 1) for step in range(10_000)])

    figure = parse(draw_curves([curve], "Reward"))

    cells = rows(figure)
    assert len(cells) == 60
    assert figure.findtext(".//summary") == "As a table: 60 averages of 10,000 points"
    assert cells[0][1:] == ["82.5", "82.5", "-1", "166"]
    assert cells[-1][-1] == "10,000"
    line = figure.find(".//polyline")
    assert line is not None
    assert len(line.attrib["points"].split()) == 200
    assert len(ET.tostring(figure)) < 20_000


def test_a_single_evaluation_is_a_dot_with_a_whisker() -> None:
    figure = parse(draw_curves([Curve("held out", [Point(0, 0.5, 0.4, 0.6)])], "Evaluations"))

    assert len(figure.findall(".//polyline")) == 2
    assert figure.findtext(".//summary") == "As a table"
    assert rows(figure) == [["held out", "0", "0.5", "0.4", "0.6"]]


@given(st.lists(st.builds(Dot, NUMBERS, NUMBERS, NAMES, st.none() | NAMES), max_size=20), NAMES)
def test_dots_stay_inside_and_say_their_labels(dots: list[Dot], title: str) -> None:
    figure = parse(draw_dots(dots, title, "Cost", "Reward"))

    known = [dot for dot in dots if abs(dot.x) <= 1e100 >= abs(dot.y)]
    assert len(rows(figure)) == len(known)
    if known:
        check_inside(figure)
        assert len(figure.findall(".//a")) == sum(dot.path is not None for dot in known)


@given(st.floats(-1e100, 1e100), st.floats(-1e100, 1e100))
def test_an_axis_has_a_few_round_ticks_inside_its_range(low: float, high: float) -> None:
    axis = Axis.over(min(low, high), max(low, high))

    ticks = axis.ticks()

    assert 1 <= len(ticks) <= 8
    slack = (axis.high - axis.low) * 1e-6
    assert all(axis.low - slack <= tick <= axis.high + slack for tick in ticks)


def test_markup_in_names_is_text() -> None:
    hostile = '</title><script>alert(1)</script>"'

    drawn = draw_curves([Curve(hostile, [Point(0, 1), Point(1, 2)])] * 2, hostile, hostile, hostile)

    assert "<script" not in drawn
    assert {each.tag for each in parse(drawn).iter()} <= DRAWN


def test_a_bar_has_a_whisker_over_its_interval_on_the_scale_of_all() -> None:
    bar = draw_bar(0.5, (0.25, 1.0), Axis(-1.0, 1.0))
    assert '<rect x="50.0" y="3" width="25.0"' in bar
    assert "M62.5 4V10M62.5 7H100.0M100.0 4V10" in bar
    assert "<path" not in draw_bar(-0.5, None, Axis(-1.0, 1.0))
