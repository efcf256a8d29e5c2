"""Trying again: bounded, patient when asked, quick to give up where waiting cannot help."""

import asyncio

import pytest

from prime_cli.models.gateway.calls import Call, CallFailed, CallIdentity, Reply, RequestHead
from prime_cli.models.gateway.retries import Retries, RetryPolicy

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
