import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.core.durations import parse_duration
from prime_cli.core.errors import UsageError


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
def test_what_is_no_span_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a span of time"):
        parse_duration(text)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(UsageError):
        assert parse_duration(text) >= 0
