"""Numbers, spans of time and lists, as people read and write them."""

import ast
import contextlib
import math
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import prime_cli
from prime_cli.core.errors import UsageError
from prime_cli.core.formatting import (
    NOISE,
    count_text,
    first_few,
    format_apart,
    format_beside,
    format_bytes,
    format_cap,
    format_difference,
    format_exact,
    format_interval,
    format_number,
    format_share,
    format_size,
    format_usd,
    parse_duration,
    pluralize,
)

NUMBERS = st.floats(-1e300, 1e300)
REWARDS = st.floats(-2.0, 2.0) | st.floats(-1e-3, 1e-3) | st.floats(0.99, 1.01)


def read(text: str) -> float:
    return float(text.replace(",", ""))


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (0.5, "0.5"),
        (0.70634, "0.706"),
        (0.9999, "0.9999"),
        (0.999996, "0.999996"),
        (1.0001, "1.0001"),
        (12.00001, "12"),
        (99.99996, "99.99996"),
        (0.7 + 0.2 + 0.1, "1"),
        (0.0496, "0.0496"),
        (0.000051, "5.1e-05"),
        (-0.00004, "-4e-05"),
        (12.3456, "12.346"),
        (10_000, "10,000"),
        (12_345.678, "12,345.7"),
        (123_456_789.0, "123,456,789"),
        (1.5e20, "1.5e+20"),
        (10**400, "1.00e+400"),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
    ],
)
def test_a_number_has_the_digits_that_say_something(value: float, told: str) -> None:
    assert format_number(value) == told


def test_a_number_that_nobody_knows_is_not_zero() -> None:
    assert format_number(None) == ""
    assert format_number(None, "none") == "none"


@given(NUMBERS | REWARDS)
def test_nothing_but_zero_reads_as_zero(value: float) -> None:
    assert (read(format_number(value)) == 0) == (value == 0)
    assert (read(format_share(value).rstrip("%")) == 0) == (100 * value == 0)


@given(REWARDS)
def test_nothing_but_one_reads_as_one(value: float) -> None:
    assume(abs(value - 1) > 2 * NOISE)
    assert read(format_number(value)) != 1
    assert format_share(value) != "100%"


@given(NUMBERS | REWARDS)
def test_a_number_is_rounded_to_a_thousandth_of_itself_or_better(value: float) -> None:
    told = read(format_number(value))
    assert math.isclose(told, value, rel_tol=6e-3, abs_tol=0) or abs(told - value) <= 5e-4


@given(*[NUMBERS | REWARDS] * 2)
def test_a_larger_number_never_reads_as_a_smaller_one(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert read(format_number(low)) <= read(format_number(high))


@given(*[NUMBERS | REWARDS] * 2)
def test_two_ends_of_an_interval_read_apart(one: float, other: float) -> None:
    assume(one != other)
    low, high = format_interval((min(one, other), max(one, other))).split(" to ")
    assert low != high


def test_an_interval_has_no_more_digits_than_it_needs() -> None:
    assert format_interval((0.51234, 0.76543)) == "0.512 to 0.765"
    assert format_interval((0.70001, 0.70002)) == "0.70001 to 0.70002"
    assert format_interval((0.0, 0.000051)) == "0 to 5.1e-05"
    assert format_interval((-0.1, 0.3), signed=True) == "-0.1 to +0.3"
    assert format_interval(None) == ""
    assert format_apart([0.5, None, 0.50001], "error") == ["0.5", "error", "0.50001"]


def test_a_difference_has_its_sign() -> None:
    assert [format_difference(each) for each in (0.05, -0.05, 0.0, -0.0)] == [
        "+0.05",
        "-0.05",
        "0",
        "0",
    ]


@pytest.mark.parametrize(
    ("limit", "told"), [(0.99999, "0.99999"), (1.0, "1"), (5e-05, "5e-05"), (-0.0, "0"), (7, "7")]
)
def test_a_threshold_reads_as_it_was_given(limit: float, told: str) -> None:
    assert format_exact(limit) == told


@pytest.mark.parametrize(
    ("value", "limit", "told"),
    [
        (0.99999, 1.0, "0.99999"),
        (0.69996, 0.7, "0.69996"),
        (0.70030, 0.70010, "0.7003"),
        (0.6 - 0.5, 0.1, "0.1"),
        (0.25, 0.7, "0.25"),
        (0.04998, 0.05, "0.04998"),
    ],
)
def test_a_number_beside_a_limit_is_on_its_side(value: float, limit: float, told: str) -> None:
    assert format_beside(value, limit) == told


@given(NUMBERS | REWARDS, NUMBERS | REWARDS)
def test_a_number_never_reads_as_the_limit_that_it_misses(value: float, limit: float) -> None:
    assume(abs(value - limit) > NOISE)
    assert (read(format_beside(value, limit)) < limit) == (value < limit)
    assert format_beside(value, limit) != format_exact(limit)


@pytest.mark.parametrize(
    ("part", "told"),
    [
        (0.0, "0%"),
        (0.0002, "0.02%"),
        (0.07, "7%"),
        (1 / 3, "33.3%"),
        (0.8202, "82%"),
        (0.9997, "99.97%"),
        (0.99996, "99.996%"),
        (1.0, "100%"),
    ],
)
def test_only_all_is_100_percent_and_only_nothing_0(part: float, told: str) -> None:
    assert format_share(part) == told


def test_a_limit_of_a_share_has_all_of_its_digits() -> None:
    assert [format_share(each, digits=9) for each in (0.07, 0.123456)] == ["7%", "12.3456%"]


@pytest.mark.parametrize(
    ("amount", "told"),
    [
        (0.0, "$0.00"),
        (0.42, "$0.42"),
        (0.0084, "$0.0084"),
        (0.000012, "$0.000012"),
        (1234.5, "$1,234.50"),
    ],
)
def test_an_amount_has_cents_or_two_digits(amount: float, told: str) -> None:
    assert format_usd(amount) == told


def test_a_limit_of_money_has_all_of_its_digits() -> None:
    assert [format_cap(each) for each in (5.0, 0.9999, 1.005)] == ["$5.00", "$0.9999", "$1.005"]


def test_a_size_is_examples_by_rollouts() -> None:
    assert format_size(10_000, 3) == "10,000 x 3"
    assert format_size(None, "all") == "? x all"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("45s", 45),
        ("90m", 5400),
        ("12h", 43200),
        ("30d", 2592000),
        ("2W", 1209600),
        (" 1d ", 86400),
    ],
)
def test_span_is_read_in_seconds(text: str, seconds: int) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "30", "d", "-1d", "1.5h", "1d12h", "٣d", "9" * 10 + "s"])
def test_an_invalid_span_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a duration"):
        parse_duration(text)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(UsageError):
        assert parse_duration(text) >= 0


@pytest.mark.parametrize(
    ("count", "told"), [(0, "0 runs"), (1, "1 run"), (2, "2 runs"), (1_000, "1,000 runs")]
)
def test_a_count_agrees_with_its_noun(count: int, told: str) -> None:
    assert pluralize(count, "run") == told


def test_a_noun_may_have_a_plural_of_its_own() -> None:
    assert pluralize(1, "entry", "entries") == "1 entry"
    assert pluralize(3, "entry", "entries") == "3 entries"


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b", "c"], "a, b, c"),
        (["a", "b", "c", "d"], "a, b, c and 1 more"),
        (["a", "b", "c", "d", "e"], "a, b, c and 2 more"),
    ],
)
def test_a_list_says_how_much_of_it_is_omitted(names: list[str], told: str) -> None:
    assert first_few(names) == told


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1500, "1.5 kB"),
        (1_000, "1.0 kB"),
        (3_000_000, "3.0 MB"),
        (10**16, "10000.0 TB"),
    ],
)
def test_sizes_are_in_decimal_units(size: int, text: str) -> None:
    assert format_bytes(size) == text


def test_what_is_done_has_a_unit_for_bytes_only() -> None:
    assert count_text(231, 1_800, "rollouts") == "231/1,800"
    assert count_text(3_200_000, None, "bytes") == "3.2 MB"


PACKAGE = Path(prime_cli.__file__).parent
UNIT = re.compile(r" ?(s|seconds|minutes|hours|[smhd] left|h|d|tokens/s|[kMGT]?B|GB of \w+|CPU)\b")
OTHERS = {
    "core/formatting.py",
    "evals/gate/reports.py",  # seconds in attributes of JUnit
    "pages/charts.py",  # places in SVG
    "pages/plot.py",
    "client/pods/offer_rows.py",  # prices as the official client writes them
    "training/engines/trl/prime_trl/exactness.py",  # run by the trainer's Python, without prime
    "training/engines/trl/prime_trl/run.py",
    "runs/export/page_parts/data.js",  # `format_number` in JavaScript
}
"""Where a number has a form of its own."""
SOURCES = {
    path.relative_to(PACKAGE).as_posix(): path
    for path in PACKAGE.rglob("*.*")
    if path.suffix in {".py", ".html", ".js"} and "starters" not in path.parts
}


def own_forms(name: str) -> list[str]:
    """Each number that a source file rounds by itself and that has no unit behind it."""
    source = SOURCES[name].read_text(encoding="utf-8")
    if not name.endswith(".py"):
        rounded = re.compile(r"(?<!seconds)\.to(?:Fixed|Precision|LocaleString)\(|\"%\.\d")
        return [line for line in source.splitlines() if rounded.search(line)]
    strings = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.JoinedStr))
    pairs = (pair for string in strings for pair in pairwise([*string.values, ast.Constant("")]))
    return [
        f"{ast.unparse(part.value)} as {form}"
        for part, after in pairs
        if isinstance(part, ast.FormattedValue) and part.format_spec is not None
        if re.search("[eEfFgG%]'$", form := ast.unparse(part.format_spec))
        if not (isinstance(after, ast.Constant) and UNIT.match(str(after.value)))
    ]


def test_no_number_without_a_unit_is_rounded_elsewhere() -> None:
    found = {name: own_forms(name) for name in SOURCES}
    assert {name for name, forms in found.items() if forms} == OTHERS, {
        name: forms for name, forms in found.items() if forms and name not in OTHERS
    }
