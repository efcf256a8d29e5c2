"""The API's router answers as Starlette's does that tries all routes in turn."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route

from prime_cli.hub.api_router import ApiRouter
from prime_cli.hub.app import OPERATIONS
from prime_cli.hub.routes import unsupported
from prime_cli.hub.urls import API

_PATHS = [(each.method, each.path) for each in OPERATIONS]
_STRANGE = ["", "/", "/nowhere", "/nowhere/x", "/sandboxes", "/images/x/y", "/{id}", "//sandbox"]


def _named(method: str, path: str) -> Callable[[Request], Awaitable[Response]]:
    async def answer(_request: Request) -> Response:
        return PlainTextResponse(f"{method} {path}")

    return answer


def _routes() -> Iterator[Route]:
    for method, path in _PATHS:
        yield Route(path, _named(method, path), methods=[method])
    for route in unsupported.routes():
        methods = sorted(route.methods or ())
        yield Route(route.path, _named("unsupported", route.path), methods=methods)


async def _ask(app: Starlette, method: str, path: str) -> tuple[int, str]:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://hub.local") as client:
        answer = await client.request(method, f"{API}{path}")
    return answer.status_code, answer.text


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_every_address_is_answered_by_the_first_route_that_fits(method: str) -> None:
    all_in_turn = Starlette(routes=[Mount(API, routes=list(_routes()))])
    by_area = Starlette(routes=[Mount(API, ApiRouter(list(_routes())))])
    addresses = {re.sub(r"\{[^}]*\}", "x", path) for _, path in _PATHS} | set(_STRANGE)
    addresses |= {f"{each}/x" for each in addresses}

    async def compare() -> None:
        for each in sorted(addresses):
            expected = await _ask(all_in_turn, method, each)
            assert await _ask(by_area, method, each) == expected, each

    asyncio.run(compare())
