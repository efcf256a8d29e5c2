"""Keys that endpoints refuse: no call is made that cannot be answered, and no answer is lost."""

import asyncio
from contextlib import suppress

import pytest

from prime_cli.core.errors import NotAllowed, NotLoggedIn
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.refusals import Refusals
from prime_cli.models.gateway.server import Gateway
from prime_cli.models.gateway.settings import GatewaySettings
from tests.helpers.gateway_client import ask, run
from tests.helpers.scripted_model import Received, Reply, ScriptedModel, status

OWN = Endpoint("scripted", "https://api.example.com/v1")


def after(*statuses: int) -> Refusals:
    refusals = Refusals(OWN)
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
    refusals = Refusals(OWN)
    refusals.learn(Endpoint("judge", "https://judge.example.com/v1"), 401)
    assert refusals.verdict() is None
    assert not refusals.doubtful


async def through_lanes(gateway: Gateway, calls: int, lanes: int) -> list[int]:
    """Statuses of `calls` calls, made by so many `lanes`; what is held is given up."""
    waiting, statuses = iter(range(calls)), list[int]()

    async def lane() -> None:
        for example in waiting:
            statuses.append((await ask(gateway, rollout=f"{example}.0.1")).status)

    def stop() -> None:
        work.cancel()

    work = asyncio.gather(*(lane() for _ in range(lanes)))
    gateway.gate.on_close(stop)
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
            assert isinstance(gateway.gate.failure, NotAllowed)

    with ScriptedModel(status(code), latency=0.02) as model:
        run(scenario(model))
        assert 1 <= len(model.calls) <= most


def test_calls_that_waited_go_on_when_another_one_is_answered() -> None:
    def moderated(_: Received) -> Reply:
        return status(403) if len(model.calls) % 4 == 1 else Reply("fine", latency=0.05)

    async def scenario(model: ScriptedModel) -> None:
        async with gateway_to(model) as gateway:
            statuses = await through_lanes(gateway, 40, 4)
            assert gateway.gate.failure is None
        assert sorted(statuses) == [200] * 30 + [403] * 10

    with ScriptedModel(moderated) as model:
        run(scenario(model))


def test_without_fail_fast_every_call_is_made() -> None:
    async def scenario(model: ScriptedModel) -> None:
        async with gateway_to(model, fail_fast=False) as gateway:
            assert await through_lanes(gateway, 50, 4) == [401] * 50

    with ScriptedModel(status(401)) as model:
        run(scenario(model))
