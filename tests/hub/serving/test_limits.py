"""Rate limits."""

import asyncio

import pytest
from starlette.types import Receive, Scope, Send

from prime_cli.hub.context import Caller
from prime_cli.hub.serving.limits import RateLimitMiddleware, Rates, ShareMiddleware, TokenBuckets
from tests.hub.serving.asgi import ask, echo, request
from tests.hub.serving.clocks import Clock

# --- Token buckets ---


def test_bucket_gives_its_burst_and_then_its_rate() -> None:
    clock = Clock()
    buckets = TokenBuckets(rate=2, burst=3, clock=clock)
    assert [buckets.take("ada") for _ in range(4)] == [0, 0, 0, 0.5]
    clock.pass_by(0.5)
    assert buckets.take("ada") == 0
    assert buckets.take("ada") == 0.5


def test_one_bucket_does_not_empty_another() -> None:
    buckets = TokenBuckets(rate=1, burst=1, clock=Clock())
    assert [buckets.take("ada"), buckets.take("bob")] == [0, 0]
    assert buckets.take("ada") > 0


def test_bucket_never_holds_more_than_its_burst() -> None:
    clock = Clock()
    buckets = TokenBuckets(rate=1, burst=2, clock=clock)
    buckets.take("ada")
    clock.pass_by(1000)
    assert [buckets.take("ada") > 0 for _ in range(3)] == [False, False, True]


def test_only_so_many_names_are_remembered() -> None:
    buckets = TokenBuckets(rate=1, burst=1, most=10, clock=Clock())
    for name in range(1000):
        buckets.take(name)
    assert len(buckets._levels) == 10
    assert buckets.take(999) > 0
    assert buckets.take(0) == 0


# --- Rates ---

RATES = Rates(key=4, address=2, stranger=1, burst=1)
FAR = {"near": False}


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Knows every key that begins with `good`."""
    sent = dict(scope["headers"]).get(b"authorization", b"")
    scope["state"]["caller"] = Caller("ada" if sent.startswith(b"Bearer good") else "")
    await echo(scope, receive, send)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def limited(clock: Clock) -> RateLimitMiddleware:
    return RateLimitMiddleware(app, RATES, clock=clock)


def statuses(
    limited: RateLimitMiddleware, times: int, key: str = "", address: str = "192.0.2.7"
) -> list[int]:
    headers = {"authorization": f"Bearer {key}"} if key else {}
    state = {**FAR, "address": address}
    return [ask(limited, headers=headers, state=state).status for _ in range(times)]


def test_address_without_a_key_has_its_rate(limited: RateLimitMiddleware, clock: Clock) -> None:
    assert statuses(limited, 3) == [200, 200, 429]
    assert statuses(limited, 1, address="192.0.2.8") == [200]
    clock.pass_by(0.5)
    assert statuses(limited, 2) == [200, 429]


def test_refusal_says_when_to_come_again(limited: RateLimitMiddleware) -> None:
    statuses(limited, 2)
    answer = ask(limited, state={**FAR, "address": "192.0.2.7"})
    assert answer.headers["retry-after"] == "1"
    assert answer.json["code"] == "rate_limited"
    assert answer.json["detail"] == "Too many requests; try again in 1 s"


def test_key_that_works_counts_for_itself(limited: RateLimitMiddleware) -> None:
    assert statuses(limited, 6, key="good1") == [200] * 5 + [429]
    assert statuses(limited, 1, key="good1", address="192.0.2.8") == [429]


def test_guessing_keys_is_slow_though_each_is_new(limited: RateLimitMiddleware) -> None:
    found = [statuses(limited, 1, key=f"guess{number}")[0] for number in range(4)]
    assert found == [200, 429, 429, 429]


def test_key_that_fails_is_a_strangers_again(limited: RateLimitMiddleware, clock: Clock) -> None:
    assert statuses(limited, 1, key="good1") == [200]
    assert len(limited._good) == 1

    async def revoked(scope: Scope, receive: Receive, send: Send) -> None:
        scope["state"]["caller"] = Caller()
        await echo(scope, receive, send)

    limited.app = revoked
    assert statuses(limited, 1, key="good1") == [200]
    assert statuses(limited, 1, key="good1") == [429]


def test_all_addresses_of_one_subscriber_are_one(limited: RateLimitMiddleware) -> None:
    assert statuses(limited, 2, address="2001:db8::1") == [200, 200]
    assert statuses(limited, 1, address="2001:db8::ffff:1") == [429]
    assert statuses(limited, 1, address="2001:db8:0:1::1") == [200]


def test_callers_on_this_machine_are_not_limited(limited: RateLimitMiddleware) -> None:
    state = {"near": True, "address": "127.0.0.1"}
    assert {ask(limited, state=state).status for _ in range(50)} == {200}


# --- Requests at once ---


def test_an_address_has_so_many_requests_under_way_and_then_again() -> None:
    def at_once(*addresses: str) -> list[int]:
        """The statuses of requests of which each waits for all others to have begun."""

        async def ask_all() -> list[int]:
            all_begun = asyncio.Event()

            async def wait(scope: Scope, receive: Receive, send: Send) -> None:
                await all_begun.wait()
                await echo(scope, receive, send)

            share.app = wait
            tasks = [
                asyncio.create_task(request(share, state={**FAR, "address": address}))
                for address in addresses
            ]
            await asyncio.sleep(0)
            all_begun.set()
            return [(await task).status for task in tasks]

        return asyncio.run(ask_all())

    share = ShareMiddleware(echo, 2)
    ada, bob = "2001:db8::1", "192.0.2.7"
    assert at_once(ada, ada, "2001:db8::2", bob) == [200, 200, 429, 200]
    assert at_once(ada, ada) == [200, 200]
    assert not share._under_way
