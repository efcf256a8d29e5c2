"""The worker's own HTTP connections, with both generations of httpx that openai may use."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from prime_cli.runtime.worker.client import loopback_transport
from tests.helpers.scripted_model import HANG, HANG_UP, Reply, ScriptedModel, status

CHAT = {"model": "m", "messages": [{"role": "user", "content": "hi there"}]}


@pytest.fixture(params=["httpx", "httpx2"])
def httpx(request: pytest.FixtureRequest) -> Any:
    return pytest.importorskip(request.param)


def use(httpx: Any, work: Callable[[Any], Awaitable[Any]], **options: Any) -> Any:
    """The result of `work(client)`, with a client of the transport."""

    async def main() -> Any:
        transport = loopback_transport(httpx)
        async with httpx.AsyncClient(transport=transport, trust_env=False, **options) as client:
            return await work(client)

    return asyncio.run(main())


def test_an_answer_has_its_status_headers_and_body(model: ScriptedModel, httpx: Any) -> None:
    model.queue(Reply("hello", headers={"x-more": "a:b"}), status(429, retry_after=2))

    async def ask(client: Any) -> Any:
        url = f"{model.url}/chat/completions"
        return await client.post(url, json=CHAT), await client.post(url, json=CHAT)

    good, refused = use(httpx, ask)
    assert good.json()["choices"][0]["message"]["content"] == "hello"
    assert good.headers["x-more"] == "a:b"
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "2")
    assert model.connections == 1


def test_many_calls_at_once_reuse_their_connections(model: ScriptedModel, httpx: Any) -> None:
    async def ask(client: Any) -> None:
        for _ in range(3):
            url = f"{model.url}/chat/completions"
            await asyncio.gather(*(client.post(url, json=CHAT) for _ in range(20)))

    use(httpx, ask)
    assert (len(model.calls), model.connections) == (60, 20)


def test_connections_are_not_shared_between_servers(model: ScriptedModel, httpx: Any) -> None:
    with ScriptedModel("the other one") as other:

        async def ask(client: Any) -> list[str]:
            urls = [f"{server.url}/chat/completions" for server in (model, other, model, other)]
            answers = [(await client.post(url, json=CHAT)).json() for url in urls]
            return [answer["choices"][0]["message"]["content"] for answer in answers]

        assert use(httpx, ask) == ["hi there", "the other one"] * 2
        assert (model.connections, other.connections) == (1, 1)


def test_streams_arrive_piece_by_piece(model: ScriptedModel, httpx: Any) -> None:
    async def ask(client: Any) -> list[str]:
        body = CHAT | {"stream": True}
        async with client.stream("POST", f"{model.url}/chat/completions", json=body) as answer:
            return [line async for line in answer.aiter_lines() if line]

    lines = use(httpx, ask)
    assert lines[-1] == "data: [DONE]"
    assert len(lines) > 3


def test_a_stream_that_is_left_early_does_not_spoil_the_next_call(
    model: ScriptedModel, httpx: Any
) -> None:
    async def ask(client: Any) -> Any:
        url = f"{model.url}/chat/completions"
        async with client.stream("POST", url, json=CHAT | {"stream": True}) as answer:
            async for _ in answer.aiter_lines():
                break
        return await client.post(url, json=CHAT)

    assert use(httpx, ask).json()["choices"][0]["message"]["content"] == "hi there"


def test_a_server_that_hangs_up_is_a_protocol_error(model: ScriptedModel, httpx: Any) -> None:
    model.queue(HANG_UP)
    with pytest.raises(httpx.RemoteProtocolError):
        use(httpx, lambda client: client.post(f"{model.url}/chat/completions", json=CHAT))


def test_an_idle_connection_that_was_closed_is_replaced(httpx: Any) -> None:
    async def two_calls_to_a_server_that_closes_in_between() -> list[int]:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with (
            server,
            httpx.AsyncClient(transport=loopback_transport(httpx), trust_env=False) as client,
        ):
            return [(await client.get(f"http://127.0.0.1:{port}/")).status_code for _ in "ab"]

    assert asyncio.run(two_calls_to_a_server_that_closes_in_between()) == [200, 200]


def test_no_answer_in_time_is_a_read_timeout(model: ScriptedModel, httpx: Any) -> None:
    model.queue(HANG)
    with pytest.raises(httpx.ReadTimeout):
        use(
            httpx,
            lambda client: client.post(f"{model.url}/chat/completions", json=CHAT),
            timeout=0.2,
        )


def test_a_missing_listener_is_a_connect_error(httpx: Any) -> None:
    with pytest.raises(httpx.ConnectError):
        use(httpx, lambda client: client.get("http://127.0.0.1:9/"))
