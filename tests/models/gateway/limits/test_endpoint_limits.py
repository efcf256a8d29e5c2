"""Limits at work: a gateway and an endpoint over real sockets."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.limits.endpoint_limits import name_of
from prime_cli.models.gateway.limits.shared_state import open_state
from prime_cli.models.gateway.retries import RetryPolicy
from prime_cli.models.gateway.server import Gateway
from prime_cli.models.gateway.settings import GatewaySettings
from prime_cli.models.providers import EndpointSecret
from tests.helpers.gateway_client import Answered, ask, run
from tests.helpers.raw_server import raw_server
from tests.helpers.scripted_model import HANG, Received, Reply, ScriptedModel, status

QUICK = RetryPolicy(first_s=0.01, longest_s=0.05)


def gateway(endpoint: Endpoint, folder: Path | None = None, *, idle: float = 60) -> Gateway:
    settings = GatewaySettings(20, QUICK, idle_seconds=idle, limits_folder=folder)
    return Gateway(endpoint, environ={}, settings=settings)


async def until(seen: Callable[[], bool]) -> None:
    while not seen():  # noqa: ASYNC110 - what is looked at has no event
        await asyncio.sleep(0.01)


def test_one_refusal_holds_all_runs_of_the_machine(tmp_path: Path) -> None:
    async def scenario(model: ScriptedModel) -> None:
        endpoint = Endpoint("scripted", model.url, EndpointSecret("sk-one"))
        async with gateway(endpoint, tmp_path) as one, gateway(endpoint, tmp_path) as two:
            model.queue(status(429, retry_after=0.3))
            refused = asyncio.create_task(ask(one))
            await until(lambda: one.waits().held > 0)
            assert (await ask(two, "after")).said == "after"
            assert (await refused).status == 200
        first, *others = model.calls
        assert all(call.at - first.at >= 0.29 for call in others)

    with ScriptedModel() as model:
        run(scenario(model))
    (file,) = tmp_path.iterdir()
    assert b"sk-one" not in file.read_bytes()
    assert "sk-one" not in file.name


def test_another_key_is_another_limit() -> None:
    endpoint = Endpoint("scripted", "http://127.0.0.1:1/v1", EndpointSecret("a"))
    assert name_of(endpoint) != name_of(replace(endpoint, key=EndpointSecret("b")))
    assert name_of(endpoint) == name_of(replace(endpoint, model="judge"))


def test_an_allowance_that_is_used_up_is_waited_for() -> None:
    spent = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "300ms"}

    async def scenario(model: ScriptedModel) -> None:
        async with gateway(Endpoint("scripted", model.url)) as gate:
            assert (await ask(gate)).status == 200
            assert (await ask(gate)).status == 200
        first, second = model.calls
        assert second.at - first.at >= 0.29

    with ScriptedModel() as model:
        model.queue(Reply("fine", headers=spent))
        run(scenario(model))


def test_an_endpoint_that_bears_two_calls_is_found_out_and_everything_is_answered() -> None:
    at_once = 0

    async def bear_two(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal at_once
        at_once += 1
        try:
            body = b'{"choices": [{"message": {"content": "ok"}}]}'
            code = 200 if at_once <= 2 else 429
            await asyncio.sleep(0.01)
            head = (
                f"HTTP/1.1 {code} Raw\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n"
            )
            writer.write(head.encode() + body)
            await writer.drain()
        finally:
            at_once -= 1

    async def scenario() -> list[Answered]:
        patient = RetryPolicy(rate_limited=200, first_s=0.01, longest_s=0.05)
        async with (
            raw_server(bear_two) as url,
            Gateway(
                Endpoint("scripted", url), environ={}, settings=GatewaySettings(retries=patient)
            ) as gate,
        ):
            return await asyncio.gather(*(ask(gate) for _ in range(60)))

    assert {answered.status for answered in run(scenario())} == {200}


def test_a_member_of_a_group_that_is_down_is_passed_over() -> None:
    async def scenario(model: ScriptedModel) -> None:
        down = Endpoint("scripted", "http://127.0.0.1:9/v1")
        group = replace(down, others=(Endpoint("scripted", model.url),))
        async with gateway(group) as gate:
            for _ in range(6):
                assert (await ask(gate)).status == 200
            (door,) = [d for d in gate._limits._doors.values() if d.endpoint.url == down.url]
            assert door.failures == 1

    with ScriptedModel() as model:
        run(scenario(model))


def test_a_member_that_is_paused_leaves_its_calls_to_the_others() -> None:
    async def scenario(busy: ScriptedModel, idle: ScriptedModel) -> None:
        group = Endpoint("scripted", busy.url, others=(Endpoint("scripted", idle.url),))
        async with gateway(group) as gate:
            busy.answer = status(429, retry_after=600)
            answers = [await ask(gate) for _ in range(6)]
        assert {a.status for a in answers} == {200}
        assert len(busy.calls) == 1

    with ScriptedModel() as busy, ScriptedModel() as idle:
        run(scenario(busy, idle))


def test_a_stalled_stream_is_ended_and_its_slot_returned() -> None:
    async def stall(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
        writer.write(b'data: {"choices": [{"index": 0}]}\n\n')
        await writer.drain()
        await reader.read()

    async def scenario() -> Answered:
        async with (
            raw_server(stall) as url,
            gateway(Endpoint("scripted", url), idle=0.2) as gate,
        ):
            answered = await ask(gate, stream=True)
            (limiter,) = gate._limits._limiters.values()
            assert limiter.running == 0
            return answered

    answered = run(scenario())
    assert '{"choices": [{"index": 0}]}' in answered.text
    assert "stream_stalled" in answered.text
    assert '"class":"infra"' in answered.text


@pytest.mark.parametrize("stream", [False, True])
def test_a_caller_that_hangs_up_gives_its_slot_back(stream: bool) -> None:
    async def scenario(model: ScriptedModel) -> None:
        async with gateway(Endpoint("scripted", model.url)) as gate:
            caller = asyncio.create_task(ask(gate, stream=stream))
            await until(lambda: gate.waits().calls > 0)
            (limiter,) = gate._limits._limiters.values()
            caller.cancel()
            await until(lambda: not limiter.running and not gate.waits().calls)

    with ScriptedModel(HANG) as model:
        run(scenario(model))


def test_judges_wait_in_the_same_line_and_go_first(tmp_path: Path) -> None:
    order = []

    def note(request: Received) -> str:
        order.append(request.last_user)
        return "ok"

    async def scenario(model: ScriptedModel) -> None:
        endpoint = Endpoint("scripted", model.url)
        ahead = open_state(tmp_path, name_of(endpoint))
        ahead.limit = 1.0
        async with gateway(endpoint, tmp_path) as gate:
            await ask(gate, "opens the door")
            (limiter,) = gate._limits._limiters.values()
            ahead.limit, ahead.cut_at = 1.0, limiter._clock()
            await limiter.enter()
            calls = []
            for number, role in enumerate(("policy", "judge")):
                who = f"{number}.0.1.{role}"
                calls.append(asyncio.create_task(ask(gate, role, rollout=who)))
                await until(lambda: gate.waits().held == len(calls))
            limiter.leave()
            await asyncio.gather(*calls)
        ahead.close()

    with ScriptedModel(note) as model:
        run(scenario(model))
    assert order[1:] == ["judge", "policy"]


def test_a_judge_elsewhere_has_limits_and_deadlines_of_its_own_endpoint() -> None:
    async def scenario(model: ScriptedModel, judge: ScriptedModel) -> Answered:
        environ = {"OPENAI_BASE_URL": judge.url, "OPENAI_API_KEY": "sk-judge"}
        settings = GatewaySettings(1.0, replace(QUICK, too_late=0))
        endpoint = Endpoint("scripted", model.url)
        async with Gateway(endpoint, environ=environ, settings=settings) as gate:
            judge.queue(status(429, retry_after=0.4), HANG)
            judged = asyncio.create_task(ask(gate, model="judge", rollout="0.0.1.judge"))
            await until(lambda: len(judge.calls) > 0)
            await until(lambda: gate.waits().held > 0)
            assert (await ask(gate, rollout="0.1.1")).status == 200
            policys = gate._limits._limiters[name_of(endpoint)]
            assert (policys.limit, policys.pause) == (0, 0)
            return await judged

    with ScriptedModel() as model, ScriptedModel() as judge:
        answered = run(scenario(model, judge))
        assert len(judge.calls) == 2
    assert (answered.status, answered.error["code"]) == (504, "deadline")
