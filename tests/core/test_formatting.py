"""Spans of time and lists, as people read and write them."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.core.errors import UsageError
from prime_cli.core.formatting import count_text, first_few, format_bytes, parse_duration, pluralize


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
    ("count", "told"), [(0, "0 runs"), (1, "1 run"), (2, "2 runs"), (1_000, "1000 runs")]
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
    ("size", "text"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (3_000_000, "3.0 MB")]
)
def test_sizes_are_in_decimal_units(size: int, text: str) -> None:
    assert format_bytes(size) == text


def test_what_is_done_has_a_unit_for_bytes_only() -> None:
    assert count_text(231, 800, "rollouts") == "231/800"
    assert count_text(3_200_000, None, "bytes") == "3.2 MB"
