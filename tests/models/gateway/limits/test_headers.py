"""What endpoints say about when to call again, as OpenAI, Anthropic and others write it."""

import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.models.gateway.limits.headers import (
    asked_wait,
    is_rate_header,
    read_reset,
    spent_until,
)

# What reading a date may take on a busy machine.
SLACK = 60.0


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("1s", 1.0),
        ("6m0s", 360.0),
        ("20ms", 0.02),
        ("2m59.56s", 179.56),
        ("1h2m3s", 3723.0),
        ("1d", 86400.0),
        ("0", 0.0),
        ("7.5", 7.5),
    ],
)
def test_resets_are_spans_of_time(value: str, seconds: float) -> None:
    assert read_reset(value) == pytest.approx(seconds)


def test_resets_are_moments_too() -> None:
    moment = datetime.now(UTC) + timedelta(hours=1)
    written = [
        moment.isoformat().replace("+00:00", "Z"),
        str(int(moment.timestamp())),
        str(int(moment.timestamp() * 1000)),
    ]
    for value in written:
        assert read_reset(value) == pytest.approx(3600, abs=SLACK)


@pytest.mark.parametrize("value", ["", "soon", "-1", "nan", "inf", "2026-01-01T00:00:00", "1x"])
def test_what_cannot_be_read_says_nothing(value: str) -> None:
    assert read_reset(value) is None


@given(st.text(max_size=30))
def test_no_header_breaks_anything(text: str) -> None:
    wait = read_reset(text)
    assert wait is None or wait >= 0
    asked = asked_wait({"retry-after": text, "retry-after-ms": text})
    assert asked is None or asked >= 0
    assert spent_until({"x-ratelimit-remaining-requests": text}) == 0


def test_retry_after_is_seconds_milliseconds_or_a_date() -> None:
    assert asked_wait({"retry-after": "3"}) == 3.0
    assert asked_wait({"retry-after": "3", "retry-after-ms": "2500"}) == 2.5
    assert asked_wait({"retry-after": "3", "retry-after-ms": "x"}) == 3.0
    date = format_datetime(datetime.now(UTC) + timedelta(minutes=10), usegmt=True)
    assert asked_wait({"retry-after": date}) == pytest.approx(600, abs=SLACK)
    assert asked_wait({}) is None


@pytest.mark.parametrize(
    "headers",
    [
        {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "30s"},
        {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "30s"},
        {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "30"},
        {
            "anthropic-ratelimit-input-tokens-remaining": "0",
            "anthropic-ratelimit-input-tokens-reset": "30s",
        },
        {
            "x-ratelimit-remaining-requests": "5",
            "x-ratelimit-reset-requests": "90s",
            "x-ratelimit-remaining-tokens": "0",
            "x-ratelimit-reset-tokens": "30s",
        },
    ],
)
def test_only_what_is_used_up_makes_anybody_wait(headers: dict[str, str]) -> None:
    assert spent_until(headers) == 30.0


def test_anthropic_gives_a_date() -> None:
    reset = datetime.fromtimestamp(time.time() + 120, UTC).isoformat().replace("+00:00", "Z")
    headers = {
        "anthropic-ratelimit-requests-remaining": "0",
        "anthropic-ratelimit-requests-reset": reset,
    }
    assert spent_until(headers) == pytest.approx(120, abs=SLACK)


def test_headers_that_matter_are_known_by_name() -> None:
    assert is_rate_header("anthropic-ratelimit-tokens-reset")
    assert is_rate_header("retry-after")
    assert not is_rate_header("set-cookie")
