"""Bodies that are too long, too slow, or too many."""

import asyncio
from collections.abc import Awaitable

from starlette.types import Receive, Scope, Send

from prime_cli.core.errors import TooSlow
from prime_cli.hub.serving.limits import BodyLimitMiddleware, refuse
from prime_cli.hub.serving.options import MinimumRate
from tests.hub.serving.asgi import ask, echo, request


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers as the hub does when a route raises."""
    try:
        await echo(scope, receive, send)
    except TooSlow as error:
        await refuse(send, error)


def limit(pace: MinimumRate | None = None, uploads: int = 1) -> BodyLimitMiddleware:
    return BodyLimitMiddleware(app, upload_bytes=100, uploads=uploads, pace=pace)


def test_body_passes_and_is_counted() -> None:
    answer = ask(limit(), "/upload/t", method="PUT", body=[b"ab", b"cd"])
    assert (answer.body, answer.scope["state"]["received"]) == (b"4", 4)


def test_upload_that_declares_too_much_is_refused_before_it_is_read() -> None:
    async def never() -> bytes:
        raise AssertionError("read")

    coroutine = never()
    headers = {"content-length": "101"}
    answer = ask(limit(), "/upload/t", method="PUT", headers=headers, body=[coroutine])
    coroutine.close()
    assert (answer.status, answer.json["code"]) == (413, "too_large")


def test_body_that_stalls_is_ended() -> None:
    async def stall() -> bytes:
        await asyncio.Event().wait()
        return b""

    pace = MinimumRate(bytes=10, seconds=0.01)
    answer = ask(limit(pace), "/upload/t", method="PUT", body=[b"abc", stall()])
    assert (answer.status, answer.json["code"]) == (408, "too_slow")
    assert "3 bytes in 0.01 s" in answer.json["detail"]


def test_body_that_keeps_its_pace_may_take_long() -> None:
    async def later() -> bytes:
        await asyncio.sleep(0.01)
        return b"x" * 10

    pieces: list[bytes | Awaitable[bytes]] = [later() for _ in range(8)]
    pace = MinimumRate(bytes=10, seconds=0.05)
    assert ask(limit(pace), "/upload/t", method="PUT", body=pieces).body == b"80"


def test_no_more_uploads_than_allowed_are_taken_at_once() -> None:
    async def scenario() -> list[int]:
        limited, first_goes_on = limit(), asyncio.Event()

        async def wait() -> bytes:
            await first_goes_on.wait()
            return b"x"

        first = asyncio.create_task(request(limited, "/upload/a", method="PUT", body=[wait()]))
        await asyncio.sleep(0)
        second = await request(limited, "/upload/b", method="PUT")
        other = await request(limited, "/api/v1/x", method="POST")
        first_goes_on.set()
        done = await first
        third = await request(limited, "/upload/c", method="PUT")
        assert second.headers["retry-after"] == "5"
        return [done.status, second.status, other.status, third.status]

    assert asyncio.run(scenario()) == [200, 429, 200, 200]
