"""The server-sent events of an evaluation's page while samples arrive."""

import asyncio
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from prime_cli.client.api.transports import AppTransport
from prime_cli.hub.app import create_app
from prime_cli.hub.routes.pages import evaluations
from prime_cli.hub.services.evaluations import queries
from prime_cli.pages.events import ASK_LATER
from tests.hub.evaluating import finalize, made, push
from tests.hub.pushing import Push, settings_for


@pytest.fixture
def app(folder: Path) -> Starlette:
    return create_app(settings_for(folder))


@pytest.fixture
def hub(app: Starlette) -> httpx.Client:
    client = httpx.Client(transport=AppTransport(app), base_url="http://hub.local")
    Push(client).run()
    return client


async def ask(app: Starlette, wanted: str) -> Response:
    """The answer to a page that waits, which has not been sent yet."""
    scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "query_string": b""}
    return await evaluations.events(Request(scope | {"app": app, "path_params": {"id": wanted}}))


async def send(answer: Response) -> str:
    """The body of an answer."""
    sent: list[bytes] = []

    async def keep(message: dict[str, bytes]) -> None:
        sent.append(message.get("body", b""))

    await answer({"type": "http"}, None, keep)  # type: ignore[arg-type]
    return b"".join(sent).decode()


def test_one_page_too_many_asks_again_later(
    app: Starlette, hub: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluations, "_MOST", 1)
    wanted = made(hub)
    push(hub, wanted, [{"reward": 1.0}])
    finalize(hub, wanted)

    async def watch() -> list[str]:
        first, second = await ask(app, wanted), await ask(app, wanted)
        assert (second.status_code, second.headers["content-type"]) == (200, "text/event-stream")
        return [await send(second), await send(first), await send(await ask(app, wanted))]

    refused, seen, next_one = asyncio.run(watch())

    assert refused == ASK_LATER.decode()
    assert "event: ended" in seen
    assert next_one == seen


def test_an_evaluation_is_read_only_to_say_something(
    app: Starlette, hub: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluations, "_LOOK_SECONDS", 0.0)
    wanted = made(hub)
    grown = 0
    get_evaluation = queries.get_evaluation

    def grow(*args: object) -> object:
        nonlocal grown
        grown += 1
        push(hub, wanted, [{"reward": float(grown)}])
        return get_evaluation(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(queries, "get_evaluation", grow)

    async def watch() -> str:
        return await send(await ask(app, wanted))

    assert asyncio.run(watch()).count("event: grown") == grown == 3
