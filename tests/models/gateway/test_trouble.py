"""What the gateway does when an endpoint is down, slow, confused or elsewhere."""

import asyncio

import pytest

from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.retries import RetryPolicy
from prime_cli.models.gateway.server import Gateway
from prime_cli.models.gateway.settings import GatewaySettings
from prime_cli.models.prices import TokenUsage
from prime_cli.models.providers import EndpointSecret
from tests.helpers.gateway_client import Answered, ask, run
from tests.helpers.raw_server import raw_server
from tests.helpers.scripted_model import (
    BAD_JSON,
    HANG,
    HANG_UP,
    Answer,
    Reply,
    ScriptedModel,
    status,
)

QUICK = RetryPolicy(
    rate_limited=3, overloaded=2, connection=2, server_error=2, first_s=0.01, longest_s=0.5
)


async def ask_once(url: str, *, seconds: float = 20, stream: bool = False) -> Answered:
    endpoint = Endpoint("scripted", url, EndpointSecret("sk-real"))
    async with Gateway(endpoint, environ={}, settings=GatewaySettings(seconds, QUICK)) as gate:
        return await ask(gate, stream=stream)


def answered_by(*answers: Answer, last: Answer | None = None) -> tuple[Answered, int]:
    with ScriptedModel() as model:
        model.queue(*answers)
        if last is not None:
            model.answer = last
        return run(ask_once(model.url)), len(model.calls)


@pytest.mark.parametrize("trouble", [status(429, retry_after=0.05), status(503), HANG_UP])
def test_passing_trouble_is_not_seen_by_the_environment(trouble: Reply) -> None:
    answered, calls = answered_by(trouble, "fine")
    assert (answered.status, answered.said, calls) == (200, "fine", 2)


def test_lasting_trouble_is_passed_on_and_not_to_be_retried_again() -> None:
    answered, calls = answered_by(last=status(429))
    assert (answered.status, calls) == (429, 4)
    assert answered.error["message"] == "scripted 429"
    assert answered.headers["x-should-retry"] == "false"


def test_an_error_of_the_request_passes_at_once() -> None:
    answered, calls = answered_by(last=status(400, message="maximum context length is 10 tokens"))
    assert (answered.status, calls) == (400, 1)
    assert "context length" in answered.error["message"]


def test_a_dead_endpoint_is_the_infrastructures_fault() -> None:
    answered, calls = answered_by(last=HANG_UP)
    assert (answered.status, calls) == (502, 3)
    assert (answered.error["class"], answered.error["code"]) == ("infra", "no_answer")


def test_nothing_listening_is_reported_with_the_address() -> None:
    async def unused_port() -> int:
        server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        port: int = server.sockets[0].getsockname()[1]
        server.close()
        return port

    port = run(unused_port())
    answered = run(ask_once(f"http://127.0.0.1:{port}/v1"))
    assert answered.status == 502
    assert f"127.0.0.1:{port}" in answered.error["message"]


@pytest.mark.parametrize(
    "answer",
    [
        BAD_JSON,
        Reply(raw=b""),
        Reply(raw=b"<html>"),
        Reply(raw=b"{}"),
        Reply(raw=b'{"choices":[]}'),
    ],
)
def test_lasting_nonsense_is_the_endpoints_fault(answer: Reply) -> None:
    answered, calls = answered_by(last=answer)
    assert (answered.status, calls) == (502, 3)
    assert (answered.error["class"], answered.error["code"]) == ("infra", "nonsense_answer")


def test_passing_nonsense_is_tried_again_and_what_it_cost_is_counted() -> None:
    async def scenario(url: str) -> TokenUsage:
        async with Gateway(
            Endpoint("scripted", url), environ={}, settings=GatewaySettings(retries=QUICK)
        ) as gate:
            assert (await ask(gate, "two words", rollout="3.0.1")).said == "two words"
            return gate.ledger.used_by(3, 0, 1, "policy")

    wasted = b'{"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 7}}'
    with ScriptedModel() as model:
        model.queue(Reply(raw=wasted), BAD_JSON)
        used = run(scenario(model.url))
    assert used == TokenUsage(calls=3, input=7, output=9, uncounted=1)


def test_a_slow_endpoint_meets_the_deadline() -> None:
    with ScriptedModel(HANG) as model:
        answered = run(ask_once(model.url, seconds=0.2))
        assert len(model.calls) == 2
    assert answered.status == 504
    assert (answered.error["class"], answered.error["code"]) == ("infra", "deadline")


def test_a_redirect_is_refused_and_the_key_stays() -> None:
    with ScriptedModel() as elsewhere, ScriptedModel() as model:
        moved = {"location": elsewhere.url + "/chat/completions"}
        model.answer = Reply(status=307, headers=moved)
        answered = run(ask_once(model.url))
        assert elsewhere.requests == []
    assert answered.status == 502
    assert answered.error["code"] == "redirected"


def test_hanging_up_stops_the_endpoint() -> None:
    async def scenario(stream: bool) -> None:
        begun, stopped = asyncio.Event(), asyncio.Event()

        async def generate(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if stream:
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
                writer.write(b'data: {"choices": [{"index": 0}]}\n\n')
                await writer.drain()
            begun.set()
            while await reader.read(65536):
                pass
            stopped.set()

        async with (
            raw_server(generate) as url,
            Gateway(
                Endpoint("scripted", url), environ={}, settings=GatewaySettings(retries=QUICK)
            ) as gate,
        ):
            caller = asyncio.create_task(ask(gate, stream=stream))
            await begun.wait()
            caller.cancel()
            await asyncio.wait_for(stopped.wait(), 10)

    run(scenario(stream=False))
    run(scenario(stream=True))


def test_a_stream_that_breaks_off_ends_with_an_error_event() -> None:
    async def break_off(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 999\r\n\r\n"
        writer.write(head + b'data: {"choices": [{"index": 0}]}\n\n')
        await writer.drain()

    async def scenario() -> Answered:
        async with (
            raw_server(break_off) as url,
            Gateway(
                Endpoint("scripted", url), environ={}, settings=GatewaySettings(retries=QUICK)
            ) as gate,
        ):
            answered = await ask(gate, stream=True)
            assert gate.ledger.total() == TokenUsage(calls=1, uncounted=1)
            return answered

    answered = run(scenario())
    assert '{"choices": [{"index": 0}]}' in answered.text
    assert "stream_broken" in answered.text
