"""The API's router answers as Starlette's does that tries all routes in turn."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route, compile_path

from prime_cli.hub.app import OPERATIONS
from prime_cli.hub.routes import unsupported
from prime_cli.hub.routes.router import ApiRouter
from prime_cli.hub.urls import API
from tests.hub.accounts_hub import AccountsHub

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


def _fill(path: str) -> str:
    return re.sub(r"\{[^}]*\}", "x", path)


def _methods_of(path: str) -> set[str]:
    """Those of an address without placeholders are its own alone."""
    if "{" not in path:
        return {method for method, each in _PATHS if each == path}
    return {method for method, each in _PATHS if compile_path(each)[0].match(_fill(path))}


async def _ask(app: Starlette, method: str, path: str) -> httpx.Response:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://hub.local") as client:
        return await client.request(method, f"{API}{path}")


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_every_address_is_answered_by_the_first_route_that_fits(method: str) -> None:
    all_in_turn = Starlette(routes=[Mount(API, routes=list(_routes()))])
    by_area = Starlette(routes=[Mount(API, ApiRouter(list(_routes())))])
    addresses = {_fill(path) for _, path in _PATHS} | set(_STRANGE)
    addresses |= {f"{each}/x" for each in addresses}

    async def compare() -> None:
        for each in sorted(addresses):
            expected = await _ask(all_in_turn, method, each)
            found = await _ask(by_area, method, each)
            if found.status_code != 405:
                assert (found.status_code, found.text) == (expected.status_code, expected.text)

    asyncio.run(compare())


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_wrong_method_is_refused_with_the_right_ones(method: str) -> None:
    app = Starlette(routes=[Mount(API, ApiRouter(list(_routes())))])
    wrong = {path: right for _, path in _PATHS if method not in (right := _methods_of(path))}

    async def check() -> None:
        for path, right in wrong.items():
            answer = await _ask(app, method, _fill(path))
            assert answer.status_code == 405, path
            assert set(answer.headers["allow"].split(", ")) - {"HEAD"} == right, path

    assert wrong
    asyncio.run(check())


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", "/environmentshub/lookup"),
        ("GET", "/evaluations/bulk-delete"),
        ("PUT", "/sandbox"),
        ("DELETE", "/pods/history"),
    ],
)
def test_fixed_address_is_not_taken_for_a_name(
    accounts_hub: AccountsHub, method: str, path: str
) -> None:
    answer = accounts_hub.user("ada").request(method, f"{API}{path}")
    assert answer.status_code == 405
    assert answer.headers["allow"]


def test_wrong_method_of_a_page_is_refused_with_the_right_ones(client: httpx.Client) -> None:
    answer = client.put("/login")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD, POST")
