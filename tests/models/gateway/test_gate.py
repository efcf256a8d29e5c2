"""Caps over real sockets: what passes, what is held, and by how much a cap can be overshot."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import pytest

from prime_cli.models.budget import Budget
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.ledger import PriceOf
from prime_cli.models.gateway.server import Gateway
from prime_cli.models.gateway.settings import GatewaySettings
from prime_cli.models.keys import KeySource
from prime_cli.models.prices import Price, Spend
from prime_cli.models.registry import Entry, Registry
from prime_cli.models.usage import Usage
from tests.helpers.gateway_client import ask, run
from tests.helpers.scripted_model import Reply, ScriptedModel

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
    held = len(gateway.gate.held)
    task = asyncio.ensure_future(call)
    await until(lambda: len(gateway.gate.held) > held or task.done())
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
            await until(lambda: len(gateway.gate.held) == concurrency)
            for task in lanes:
                task.cancel()
            await asyncio.gather(*lanes, return_exceptions=True)
            assert gateway.gate.in_flight == 0
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
            assert gateway.gate.held == {(1, 2)}
            assert not gateway.gate.tainted

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
        judge = Entry("judge", "big", model.url, KeySource())
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
        assert "does not say what it used" in (budget.reason or "")

    with ScriptedModel(lambda _: Reply("x", usage={})) as model:
        run(scenario(model))


def test_a_streams_tokens_count_against_the_budget() -> None:
    async def scenario(model: ScriptedModel) -> None:
        budget = Budget(token_budget=10)
        async with capped(model.url, budget) as gateway:
            await ask(gateway, rollout="0.0.1", stream=True)
            await until(lambda: gateway.gate.in_flight == 0)
            assert await is_held(ask(gateway, rollout="0.0.1", stream=True), gateway)
        assert budget.spent == Spend.of(Usage(1, input=6, output=4), DEAR)

    with ScriptedModel(lambda _: Reply("x", usage=TEN)) as model:
        run(scenario(model))


def test_a_held_call_of_nobody_that_is_given_up_taints_what_follows() -> None:
    async def scenario(model: ScriptedModel) -> None:
        budget = Budget(token_budget=1)
        async with capped(model.url, budget) as gateway:
            await ask(gateway)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(ask(gateway), timeout=1)
            await until(lambda: gateway.gate.tainted)

    with ScriptedModel() as model:
        run(scenario(model))
