"""What is passed on to a hub, and what of its answer comes back."""

import asyncio
import json
import threading
from collections.abc import Iterator

import httpx

from tests.models.gateway.sandbox_door import CREATE, INSIDE, KEY, ScriptedHub, door


def test_the_inside_of_a_sandbox_is_reached_through_the_gateway_with_its_own_token() -> None:
    hub = ScriptedHub()

    async def scenario() -> None:
        async with door(hub) as run:
            await run.ask(*CREATE)
            _, auth = await run.ask("POST", "/hub/api/v1/sandbox/box1/auth")
            assert auth["gateway_url"].startswith(run.gate.base_url.removesuffix("/v1"))
            url = f"{auth['gateway_url']}/{auth['user_ns']}/{auth['job_id']}/exec?path=a%26b"
            assert await run.ask("POST", url, {"command": "true"}, "t-1") == (200, "one two")

    asyncio.run(scenario())
    inside = next(each for each in hub.asked if each.url.host == "inside.example")
    assert str(inside.url) == f"{INSIDE}/u/j/exec?path=a%26b"
    assert inside.headers["authorization"] == "Bearer t-1"
    assert json.loads(inside.content) == {"command": "true"}
    assert KEY not in str(inside.headers)


def test_a_stream_that_is_packed_is_said_to_be() -> None:
    """As the clients 0.2.27 to 0.2.36 pack what they send; a server refuses it otherwise."""
    hub = ScriptedHub()

    async def scenario() -> None:
        async with door(hub) as run:
            await run.ask(*CREATE)
            _, auth = await run.ask("POST", "/hub/api/v1/sandbox/box1/auth")
            sent = {"connect-content-encoding": "gzip", "authorization": "Bearer t-1"}
            url = f"{auth['gateway_url']}/u/j/process.Process/Start"
            async with run.client.post(url, data=b"packed", headers=sent) as answer:
                assert answer.status == 200

    asyncio.run(scenario())
    inside = next(each for each in hub.asked if each.url.host == "inside.example")
    assert inside.headers["connect-content-encoding"] == "gzip"


def test_an_answer_that_is_cut_off_is_said_to_be() -> None:
    hub = ScriptedHub()

    async def scenario() -> None:
        async with door(hub) as run:
            await run.ask(*CREATE)
            _, auth = await run.ask("POST", "/hub/api/v1/sandbox/box1/auth")
            hub.cuts_off = True
            status, refused = await run.ask("POST", f"{auth['gateway_url']}/u/j/exec", {}, "t-1")
            assert status == 503
            assert "ended its answer early" in refused["detail"]

    asyncio.run(scenario())


class Endless(httpx.SyncByteStream):
    """A body of which nobody has read anything yet."""

    def __init__(self) -> None:
        self.closed = threading.Event()

    def __iter__(self) -> Iterator[bytes]:
        yield b""

    def close(self) -> None:
        self.closed.set()


def test_a_stream_that_begins_after_its_caller_has_given_up_is_closed() -> None:
    body, asked, may_begin = Endless(), threading.Event(), threading.Event()

    def begin_late(_request: httpx.Request) -> httpx.Response:
        asked.set()
        assert may_begin.wait(20)
        return httpx.Response(200, stream=body)

    hub = ScriptedHub(within=begin_late)

    async def scenario() -> None:
        async with door(hub) as run:
            await run.ask(*CREATE)
            _, auth = await run.ask("POST", "/hub/api/v1/sandbox/box1/auth")
            url = f"{auth['gateway_url']}/u/j/process.Process/Start"
            start = asyncio.create_task(run.ask("POST", url, {}, "t-1"))
            assert await asyncio.to_thread(asked.wait, 20)
            start.cancel()
            await asyncio.wait([start])
            await asyncio.sleep(0.1)  # until the gateway knows
            may_begin.set()
            assert await asyncio.to_thread(body.closed.wait, 20)

    asyncio.run(scenario())
