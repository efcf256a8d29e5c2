"""Streams pass event by event, and their usage is counted whether asked for or not."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.calls import Answer
from prime_cli.models.gateway.server import Gateway
from prime_cli.models.gateway.streams import count_stream, hide_usage
from prime_cli.models.prices import TokenUsage
from tests.helpers.gateway_client import Answered, ask, run
from tests.helpers.raw_server import raw_server
from tests.helpers.scripted_model import ScriptedModel

USAGE = b'data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}\n\n'
DELTA = b'data: {"choices":[{"index":0,"delta":{"content":"a\\u00e9"}}],"usage":null}\n\n'
STREAM = DELTA * 3 + USAGE + b"data: [DONE]\n\n"


def streamed(**fields: Any) -> tuple[Answered, TokenUsage, dict[str, Any]]:
    async def scenario(model: ScriptedModel) -> tuple[Answered, TokenUsage]:
        async with Gateway(Endpoint("scripted", model.url), environ={}) as gate:
            answered = await ask(gate, "one two", rollout="0.0.1", stream=True, **fields)
            return answered, gate.ledger.used_by(0, 0, 1, "policy")

    with ScriptedModel() as model:
        answered, usage = run(scenario(model))
        return answered, usage, model.requests[0].body


def said(answered: Answered) -> str:
    deltas = [choice["delta"] for event in answered.events for choice in event["choices"]]
    return "".join(delta.get("content") or "" for delta in deltas)


def test_a_streams_usage_is_counted_and_not_shown() -> None:
    answered, usage, body = streamed()
    assert said(answered) == "one two"
    assert usage == TokenUsage(calls=1, input=2, output=2)
    assert body["stream_options"] == {"include_usage": True}
    assert all(event["choices"] for event in answered.events)


def test_a_usage_that_was_requested_is_shown() -> None:
    answered, usage, _ = streamed(stream_options={"include_usage": True})
    assert answered.events[-1]["usage"]["total_tokens"] == 4
    assert usage == TokenUsage(calls=1, input=2, output=2)


def test_events_pass_as_they_come() -> None:
    async def scenario() -> None:
        seen = asyncio.Event()

        async def drip(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + DELTA)
            await writer.drain()
            await seen.wait()  # the rest is sent only after the first event was received
            writer.write(USAGE)

        async with (
            raw_server(drip) as url,
            Gateway(Endpoint("scripted", url), environ={}) as gate,
        ):
            port = int(gate.base_url.split(":")[2].split("/")[0])
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            body = b'{"model":"scripted","stream":true}'
            writer.write(
                b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\n"
                b"authorization: Bearer %s\r\ncontent-length: %d\r\n\r\n%s"
                % (gate.token.encode(), len(body), body)
            )
            await reader.readuntil(DELTA)
            seen.set()
            await reader.read()
            writer.close()
            assert gate.ledger.total() == TokenUsage(calls=1, input=7, output=3)

    run(scenario())


@given(st.lists(st.integers(1, 40), max_size=40), st.booleans())
def test_how_a_stream_is_cut_changes_nothing(cuts: list[int], crlf: bool) -> None:
    stream = STREAM.replace(b"\n", b"\r\n") if crlf else STREAM
    counted: list[Answer | None] = []

    async def pieces() -> AsyncGenerator[bytes, None]:
        start = 0
        for cut in cuts:
            yield stream[start : start + cut]
            start += cut
        yield stream[start:]

    async def scenario() -> bytes:
        return b"".join([piece async for piece in count_stream(pieces(), counted.append)])

    async def hidden() -> bytes:
        return b"".join([piece async for piece in hide_usage(pieces())])

    assert run(scenario()) == stream
    assert [answer and answer.any_usage and answer.any_usage.asked for answer in counted] == [7]
    assert run(hidden()).replace(b"\r\n", b"\n") == DELTA * 3 + b"data: [DONE]\n\n"


def test_the_usage_of_a_responses_stream_is_counted() -> None:
    event = (
        b"event: response.completed\n"
        b'data: {"type":"response.completed","response":'
        b'{"usage":{"input_tokens":5,"output_tokens":2}}}\n\n'
    )
    counted: list[Answer | None] = []

    async def pieces() -> AsyncGenerator[bytes, None]:
        yield event

    async def scenario() -> None:
        assert [piece async for piece in count_stream(pieces(), counted.append)] == [event]

    run(scenario())
    answer = counted[0]
    assert answer is not None
    assert answer.any_usage is not None
    assert answer.any_usage.to_usage() == TokenUsage(calls=1, input=5, output=2)
