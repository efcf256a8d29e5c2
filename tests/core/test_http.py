"""Addresses of this machine, and the Retry-After header."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.core.http import is_loopback, read_host, retry_after


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1.example.org",
        "10.0.0.1",
        "localhost.example.org",
        "hub.localhost",
        "localhost.",
        "",
    ],
)
def test_only_this_machine_is_this_machine(host: str) -> None:
    assert not is_loopback(f"http://{host}/v1")


def test_loopback_is_reported_by_name_and_number() -> None:
    assert is_loopback("http://localhost:1/v1")
    assert is_loopback("http://[::1]:1/v1")
    assert not is_loopback("http://localhost.example.com/v1")
    assert not is_loopback("http://10.0.0.1/v1")
    assert not is_loopback("http://model.localhost/v1")


HOUR = 3600


@pytest.mark.parametrize(("value", "seconds"), [("0", 0), ("2.5", 2.5), ("-3", 0)])
def test_a_number_is_a_wait_in_seconds(value: str, seconds: float) -> None:
    assert retry_after(value) == seconds


def test_a_date_is_the_wait_until_then() -> None:
    moment = datetime.now(UTC) + timedelta(seconds=HOUR)
    seconds = retry_after(format_datetime(moment, usegmt=True))
    assert seconds is not None
    assert HOUR / 2 < seconds <= HOUR


@pytest.mark.parametrize("zone", ["GMT", "-0000", "+0000"])
def test_a_date_that_has_passed_asks_for_no_wait(zone: str) -> None:
    assert retry_after(f"Mon, 01 Jan 2001 00:00:00 {zone}") == 0


@pytest.mark.parametrize("value", [None, "", "soon", "inf", "nan"])
def test_what_says_nothing_is_ignored(value: str | None) -> None:
    assert retry_after(value) is None


@given(st.text() | st.floats().map(str))
def test_any_text_is_a_wait_or_ignored(value: str) -> None:
    seconds = retry_after(value)
    assert seconds is None or 0 <= seconds < float("inf")


@pytest.mark.parametrize(
    ("text", "host"), [("[::1]", "::1"), ("::1", "::1"), ("127.0.0.1", "127.0.0.1"), ("[::", "[::")]
)
def test_an_address_to_listen_on_is_read_as_urls_have_it_too(text: str, host: str) -> None:
    assert read_host(text) == host
