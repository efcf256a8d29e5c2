"""A cap over many gateways."""

import asyncio

from prime_cli.evals.ray.leases import Lease, Leases
from prime_cli.evals.ray.wire import Grant
from prime_cli.models.gateway.calls import Call, CallIdentity, Reply, RequestHead
from prime_cli.models.prices import PICO, Budget, Spend, TokenUsage

CALL = Call("POST", "chat/completions", "", {}, b"", CallIdentity(1, 0, 1), RequestHead())


def spend(tokens: int = 0, usd: float = 0.0) -> Spend:
    return Spend(TokenUsage(calls=1, input=tokens), round(usd * PICO))


def test_grants_never_add_up_to_more_than_the_cap() -> None:
    budget = Budget(token_budget=1000)
    leases = Leases(budget, workers=3)
    granted = {1: 0, 2: 0, 3: 0}
    for seat in granted:
        leases.open(seat)

    for turn in range(200):
        seat = turn % 3 + 1
        grant = leases.grant(seat)
        if grant is None:
            break
        assert grant.tokens is not None
        assert grant.picodollars is None
        budget.count(spend(grant.tokens - granted[seat]))
        leases.count(seat, spend(grant.tokens - granted[seat]))
        granted[seat] = grant.tokens

    assert sum(granted.values()) == 1000
    assert budget.reason == "The token budget of 1,000 is used up"


def test_what_a_worker_does_not_need_goes_to_others_but_not_what_a_lost_one_had() -> None:
    leases = Leases(Budget(max_cost=1.0), workers=2)
    for seat in (1, 2):
        leases.open(seat)
        assert leases.grant(seat) is not None
    first = leases.current(1).picodollars
    assert first == PICO // 4

    leases.take_back(1)
    assert leases.current(1).picodollars == 0
    leases.lose(2)
    total = 0
    while (grant := leases.grant(1)) is not None and grant.picodollars != total:
        total = grant.picodollars or 0
        leases.count(1, spend(usd=0))

    # A quarter of all, less what was out then, is lost with the second worker.
    assert 0 < total <= PICO - PICO * 3 // 16


def test_a_budget_that_is_only_held_by_lost_workers_ends_with_a_reason() -> None:
    budget = Budget(token_budget=10)
    leases = Leases(budget, workers=1)
    leases.open(1)
    while (grant := leases.grant(1)) is not None and grant.tokens != 10:
        budget.count(spend(1))
        leases.count(1, spend(1))
    assert leases.is_dry() is None or budget.reason
    leases.lose(1)
    leases.open(2)

    assert leases.grant(2) is None
    assert (leases.is_dry() or "").startswith("The token budget of 10 is used up")


def test_calls_wait_at_the_end_of_a_grant_and_go_on_with_the_next_one() -> None:
    async def scenario() -> None:
        lease = Lease(None, 100)
        sent = 0

        async def answer(_: Call) -> Reply:
            nonlocal sent
            sent += 1
            lease.count(spend(10))
            return Reply(200)

        waiting = asyncio.ensure_future(lease.admit(CALL, answer))
        await asyncio.sleep(0)
        assert (sent, lease.held) == (0, {(1, 0)})
        lease.receive(Grant(10, None))
        await waiting
        assert (sent, lease.held) == (1, set())
        again = asyncio.ensure_future(lease.admit(CALL, answer))
        await asyncio.sleep(0)
        assert not again.done()
        assert lease.reason is None
        lease.receive(Grant(11, None))
        await again

    asyncio.run(scenario())
