"""Trying again: bounded, patient when asked, quick to give up where waiting cannot help."""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.models.gateway.calls import Call, CallFailed, CallIdentity, Reply, RequestHead
from prime_cli.models.gateway.retries import (
    Retries,
    RetryPolicy,
    asked_wait,
    is_rate_header,
    read_reset,
    spent_until,
)

CALL = Call("POST", "chat/completions", "", {}, b"{}", CallIdentity(), RequestHead())
DOWN = CallFailed("down", status=502, blame="infra", code="no_answer", retryable=True)
NONSENSE = CallFailed(
    "no completion", status=502, blame="infra", code="nonsense_answer", retryable=True
)
LATE = CallFailed("late", status=504, blame="infra", code="deadline", retryable=True)
FATAL = CallFailed("no", status=502, blame="infra", code="redirected")


class Endpoint:
    """Answers with the given outcomes in turn, the last one for ever; notes the waits."""

    def __init__(self, *outcomes: Reply | CallFailed) -> None:
        self.outcomes = list(outcomes)
        self.calls = 0
        self.waits: list[float] = []

    async def answer(self, call: Call) -> Reply:
        self.calls += 1
        outcome = self.outcomes[min(self.calls, len(self.outcomes)) - 1]
        if isinstance(outcome, CallFailed):
            raise outcome
        return outcome

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    def ask(self, policy: RetryPolicy | None = None) -> Reply:
        retries = Retries(policy or RetryPolicy(), sleep=self.sleep)
        return asyncio.run(_call(retries, self))


async def _call(retries: Retries, endpoint: Endpoint) -> Reply:
    return await retries(CALL, endpoint.answer)


def too_many(after: str | None = None, code: str = "rate_limit") -> Reply:
    headers = {} if after is None else {"retry-after": after}
    return Reply(429, b'{"error": {"code": "%s"}}' % code.encode(), headers)


def test_retry_after_of_a_failing_server_is_obeyed() -> None:
    endpoint = Endpoint(Reply(500, headers={"retry-after": "7"}), Reply(200))
    assert endpoint.ask().status == 200
    assert endpoint.waits == [7.0]


def test_retry_after_of_a_refusal_is_left_to_the_limiter_of_the_endpoint() -> None:
    endpoint = Endpoint(too_many("7"), too_many("7"), Reply(200))
    assert endpoint.ask(RetryPolicy(first_s=1)).status == 200
    assert endpoint.waits[0] <= 1 < endpoint.waits[1] <= 2


def test_waits_double_with_jitter_up_to_the_longest() -> None:
    endpoint = Endpoint(too_many())
    policy = RetryPolicy(rate_limited=6, first_s=1, longest_s=8)
    assert endpoint.ask(policy).status == 429
    for wait, full in zip(endpoint.waits, [1, 2, 4, 8, 8, 8], strict=True):
        assert 0.75 * full <= wait <= full


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504, 529])
def test_a_failing_server_is_asked_a_few_times(status: int) -> None:
    endpoint = Endpoint(Reply(status))
    assert endpoint.ask(RetryPolicy(server_error=3, overloaded=3)).status == status
    assert endpoint.calls == 4


@pytest.mark.parametrize("status", [200, 400, 401, 403, 404, 422])
def test_other_answers_are_final(status: int) -> None:
    endpoint = Endpoint(Reply(status))
    assert endpoint.ask().status == status
    assert endpoint.calls == 1


def test_a_lost_connection_is_tried_again() -> None:
    endpoint = Endpoint(DOWN, DOWN, Reply(200))
    assert endpoint.ask().status == 200
    assert len(endpoint.waits) == 2


def test_a_server_that_stays_down_is_given_up() -> None:
    endpoint = Endpoint(DOWN)
    with pytest.raises(CallFailed, match="down"):
        endpoint.ask(RetryPolicy(connection=2))
    assert endpoint.calls == 3


def test_a_failure_that_waiting_cannot_cure_is_final() -> None:
    endpoint = Endpoint(FATAL)
    with pytest.raises(CallFailed):
        endpoint.ask()
    assert endpoint.calls == 1


def test_each_kind_of_trouble_is_counted_for_itself() -> None:
    trouble: list[Reply | CallFailed] = [too_many(), Reply(500), DOWN, NONSENSE, LATE, Reply(529)]
    endpoint = Endpoint(*trouble, *trouble, Reply(200))
    two_each = RetryPolicy(2, 2, 2, 2, 2, 2)
    assert endpoint.ask(two_each).status == 200
    assert endpoint.calls == 13


def test_the_lasting_failure_is_reported() -> None:
    endpoint = Endpoint(Reply(500), NONSENSE, NONSENSE, NONSENSE)
    with pytest.raises(CallFailed, match="no completion"):
        endpoint.ask(RetryPolicy(no_completion=2))
    assert endpoint.calls == 4


def test_calls_that_wait_after_a_refusal_are_counted_as_held() -> None:
    seen = []

    async def sleep(_: float) -> None:
        seen.append((retries.under_way, retries.held))

    endpoint = Endpoint(too_many(), Reply(500), Reply(200))
    retries = Retries(RetryPolicy(), sleep=sleep)
    asyncio.run(_call(retries, endpoint))
    assert seen == [(1, 1), (1, 0)]
    assert (retries.under_way, retries.held) == (0, 0)


def test_an_account_without_credit_is_not_waited_for() -> None:
    endpoint = Endpoint(too_many(code="insufficient_quota"))
    assert endpoint.ask().status == 429
    assert endpoint.calls == 1


def test_a_wait_of_an_hour_is_refused() -> None:
    endpoint = Endpoint(too_many("3600"))
    assert endpoint.ask().status == 429
    assert endpoint.waits == []


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
