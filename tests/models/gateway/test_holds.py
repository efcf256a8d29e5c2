"""Keys that endpoints refuse: no call is made that cannot be answered, and no answer is lost."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import pytest

from prime_cli.core.errors import NotAllowed, NotLoggedIn
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.holds import KeyRefusals, refusal
from prime_cli.models.gateway.ledger import PriceOf
from prime_cli.models.gateway.server import Gateway
from prime_cli.models.gateway.settings import GatewaySettings
from prime_cli.models.prices import Budget, Price, Spend, TokenUsage
from prime_cli.models.providers import KeySource
from prime_cli.models.registry import Registry, RegistryEntry
from tests.helpers.gateway_client import ask, run
from tests.helpers.scripted_model import Received, Reply, ScriptedModel, status

OWN = Endpoint("scripted", "https://api.example.com/v1")


def after(*statuses: int) -> KeyRefusals:
    refusals = KeyRefusals(OWN)
    for each in statuses:
        refusals.learn(OWN, each)
    return refusals


@pytest.mark.parametrize(
    ("statuses", "kind"),
    [
        ((401,), NotLoggedIn),
        ((429, 401), NotLoggedIn),
        ((403,), type(None)),
        ((403, 403, 403), NotAllowed),
        ((200, *[401] * 9), type(None)),
        ((200, *[401] * 10), NotLoggedIn),
        ((*[401] * 31, 200), type(None)),
        ((400, 401), type(None)),
        ((200, *[403] * 50), type(None)),
        ((404, 500, 429), type(None)),
    ],
)
def test_a_key_is_refused_where_no_call_was_answered_or_many_in_a_row_were_not(
    statuses: tuple[int, ...], kind: type
) -> None:
    assert type(after(*statuses).verdict()) is kind


def test_the_endpoints_of_judges_say_nothing_of_the_runs_key() -> None:
    refusals = KeyRefusals(OWN)
    refusals.learn(Endpoint("judge", "https://judge.example.com/v1"), 401)
    assert refusals.verdict() is None
    assert not refusals.doubtful


@pytest.mark.parametrize(
    ("key_var", "alias", "hint"),
    [
        ("GROQ_API_KEY", None, "check the key in GROQ_API_KEY"),
        (None, "fast", "check the `key` of the endpoint registry"),
        (None, None, "name it with `-k VARIABLE`"),
    ],
)
def test_a_refused_key_is_looked_for_where_it_came_from(
    key_var: str | None, alias: str | None, hint: str
) -> None:
    failure = refusal(Endpoint("m", "http://127.0.0.1/v1", alias=alias, key_var=key_var), 401)
    assert failure is not None
    assert hint in str(failure.hint)
    assert ("registry" in str(failure.hint)) == (alias is not None)


async def through_lanes(gateway: Gateway, calls: int, lanes: int) -> list[int]:
    """Statuses of `calls` calls, made by so many `lanes`; what is held is given up."""
    waiting, statuses = iter(range(calls)), list[int]()

    async def lane() -> None:
        for example in waiting:
            statuses.append((await ask(gateway, rollout=f"{example}.0.1")).status)

    def stop() -> None:
        work.cancel()

    work = asyncio.gather(*(lane() for _ in range(lanes)))
    gateway.hold.on_close(stop)
    with suppress(asyncio.CancelledError):
        await work
    return statuses


def gateway_to(model: ScriptedModel, *, fail_fast: bool = True) -> Gateway:
    settings = GatewaySettings(fail_fast=fail_fast)
    return Gateway(Endpoint("scripted", model.url), environ={}, settings=settings)


@pytest.mark.parametrize(("code", "lanes", "most"), [(401, 32, 32), (403, 32, 32), (403, 1, 3)])
def test_no_call_follows_those_that_were_under_way_when_the_key_was_refused(
    code: int, lanes: int, most: int
) -> None:
    async def scenario(model: ScriptedModel) -> None:
        async with gateway_to(model) as gateway:
            await through_lanes(gateway, 500, lanes)
            assert isinstance(gateway.hold.failure, NotAllowed)

    with ScriptedModel(status(code), latency=0.02) as model:
        run(scenario(model))
        assert 1 <= len(model.calls) <= most


def test_calls_that_waited_continue_when_another_one_is_answered() -> None:
    def moderated(_: Received) -> Reply:
        return status(403) if len(model.calls) % 4 == 1 else Reply("fine", latency=0.05)

    async def scenario(model: ScriptedModel) -> None:
        async with gateway_to(model) as gateway:
            statuses = await through_lanes(gateway, 40, 4)
            assert gateway.hold.failure is None
        assert sorted(statuses) == [200] * 30 + [403] * 10

    with ScriptedModel(moderated) as model:
        run(scenario(model))


def test_without_fail_fast_every_call_is_made() -> None:
    async def scenario(model: ScriptedModel) -> None:
        async with gateway_to(model, fail_fast=False) as gateway:
            assert await through_lanes(gateway, 50, 4) == [401] * 50

    with ScriptedModel(status(401)) as model:
        run(scenario(model))


TEN = {"prompt_tokens": 6, "completion_tokens": 4}
DEAR, CHEAP = Price(input=0, output=1e6), Price(input=0, output=1e4)


def capped(
    url: str,
    budget: Budget,
    *,
    price_of: PriceOf = lambda _: DEAR,
    registry: Registry | None = None,
) -> Gateway:
    settings = GatewaySettings(budget=budget, price_of=price_of)
    return Gateway(Endpoint("scripted", url), registry, environ={}, settings=settings)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not true():  # noqa: ASYNC110 - sockets tell no event
            await asyncio.sleep(0.01)


async def is_held(call: Coroutine[Any, Any, object], gateway: Gateway) -> bool:
    """Whether a call gets no answer, while all that is in flight comes back."""
    held = len(gateway.hold.held)
    task = asyncio.ensure_future(call)
    await until(lambda: len(gateway.hold.held) > held or task.done())
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
        return False
    return True


@pytest.mark.parametrize("concurrency", [1, 32])
def test_a_cap_is_overshot_by_no_more_than_what_was_in_flight(concurrency: int) -> None:
    async def scenario(model: ScriptedModel) -> None:
        budget = Budget(token_budget=1000)
        async with capped(model.url, budget) as gateway:
            waiting = iter(range(500))

            async def lane() -> None:
                for example in waiting:
                    await ask(gateway, rollout=f"{example}.0.1")

            lanes = [asyncio.ensure_future(lane()) for _ in range(concurrency)]
            await until(lambda: len(gateway.hold.held) == concurrency)
            for task in lanes:
                task.cancel()
            await asyncio.gather(*lanes, return_exceptions=True)
            assert gateway.hold.in_flight == 0
            used = gateway.ledger.total()
        assert 1000 <= used.input + used.output <= 1000 + 10 * (concurrency - 1)
        assert len(model.calls) == used.calls
        assert budget.spent.usage == used

    with ScriptedModel(lambda _: Reply("x", usage=TEN), latency=0.01) as model:
        run(scenario(model))


def test_a_held_call_is_known_by_its_rollout_and_never_sent() -> None:
    async def scenario(model: ScriptedModel) -> None:
        async with capped(model.url, Budget(max_cost=4.0)) as gateway:
            await ask(gateway, rollout="0.0.1")
            assert await is_held(ask(gateway, rollout="1.2.1"), gateway)
            assert gateway.hold.held == {(1, 2)}
            assert not gateway.hold.tainted

    with ScriptedModel(lambda _: Reply("x", usage=TEN)) as model:
        run(scenario(model))
        assert len(model.calls) == 1


def test_two_gateways_share_a_budget() -> None:
    async def scenario(model: ScriptedModel) -> None:
        budget = Budget(token_budget=20)
        async with capped(model.url, budget) as one, capped(model.url, budget) as two:
            await ask(one, rollout="0.0.1")
            await ask(two, rollout="0.0.1")
            assert await is_held(ask(one, rollout="1.0.1"), one)
            assert await is_held(ask(two, rollout="1.0.1"), two)

    with ScriptedModel(lambda _: Reply("x", usage=TEN)) as model:
        run(scenario(model))


def test_a_judge_of_another_price_counts_with_that_price() -> None:
    async def scenario(model: ScriptedModel) -> None:
        judge = RegistryEntry("judge", "big", model.url, KeySource())
        prices = {"scripted": CHEAP, "big": DEAR}
        budget = Budget(max_cost=100.0)
        registry = Registry(entries=(judge,))
        async with capped(
            model.url, budget, price_of=lambda e: prices[e.model], registry=registry
        ) as gateway:
            await ask(gateway, rollout="0.0.1")
            await ask(gateway, rollout="0.0.1", model="judge", headers={"X-Prime-Role": "judge"})
            charges = gateway.ledger.settle(0, 0)
        assert {payer: spend.usd for payer, spend in charges.items()} == {
            ("policy", "scripted"): 0.04,
            ("judge", "judge"): 4.0,
        }
        assert budget.spent.usd == 4.04

    with ScriptedModel(lambda _: Reply("x", usage=TEN)) as model:
        run(scenario(model))


def test_a_model_without_a_price_is_not_called_under_a_cap_in_usd() -> None:
    async def scenario(model: ScriptedModel) -> None:
        budget = Budget(max_cost=1.0)
        async with capped(model.url, budget, price_of=lambda _: None) as gateway:
            assert await is_held(ask(gateway, rollout="0.0.1"), gateway)
        assert "`scripted`" in (budget.reason or "")
        assert "no known price" in (budget.reason or "")

    with ScriptedModel() as model:
        run(scenario(model))
        assert model.calls == []


def test_under_a_token_budget_a_price_is_not_needed() -> None:
    async def scenario(model: ScriptedModel) -> None:
        budget = Budget(token_budget=1000)
        async with capped(model.url, budget, price_of=lambda _: None) as gateway:
            assert (await ask(gateway, rollout="0.0.1")).status == 200
        assert budget.spent.usd is None

    with ScriptedModel() as model:
        run(scenario(model))


def test_a_path_that_cannot_be_counted_is_not_called_under_a_cap() -> None:
    async def scenario(model: ScriptedModel) -> None:
        budget = Budget(token_budget=1000)
        async with capped(model.url, budget) as gateway:
            assert (await ask(gateway, path="models", method="GET")).status == 200
            assert await is_held(ask(gateway, rollout="0.0.1", path="images/generations"), gateway)
        assert "images/generations" in (budget.reason or "")

    with ScriptedModel() as model:
        run(scenario(model))
        assert [request.path for request in model.requests] == ["/v1/models"]


def test_an_endpoint_that_does_not_count_ends_a_capped_run_after_its_first_answer() -> None:
    async def scenario(model: ScriptedModel) -> None:
        budget = Budget(token_budget=1000)
        async with capped(model.url, budget) as gateway:
            assert (await ask(gateway, rollout="0.0.1")).said == "x"
            assert await is_held(ask(gateway, rollout="1.0.1"), gateway)
        assert "does not report usage" in (budget.reason or "")

    with ScriptedModel(lambda _: Reply("x", usage={})) as model:
        run(scenario(model))


def test_a_streams_tokens_count_against_the_budget() -> None:
    async def scenario(model: ScriptedModel) -> None:
        budget = Budget(token_budget=10)
        async with capped(model.url, budget) as gateway:
            await ask(gateway, rollout="0.0.1", stream=True)
            await until(lambda: gateway.hold.in_flight == 0)
            assert await is_held(ask(gateway, rollout="0.0.1", stream=True), gateway)
        assert budget.spent == Spend.of(TokenUsage(1, input=6, output=4), DEAR)

    with ScriptedModel(lambda _: Reply("x", usage=TEN)) as model:
        run(scenario(model))


def test_an_abandoned_call_outside_of_rollouts_taints_later_ones() -> None:
    async def scenario(model: ScriptedModel) -> None:
        budget = Budget(token_budget=1)
        async with capped(model.url, budget) as gateway:
            await ask(gateway)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(ask(gateway), timeout=1)
            await until(lambda: gateway.hold.tainted)

    with ScriptedModel() as model:
        run(scenario(model))
