import asyncio
import re
from typing import Any

import httpx
import msgspec
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Match

from prime_cli.core.errors import PrimeError
from prime_cli.hub.app import ROUTERS, find_page_routers
from prime_cli.hub.routes.responses import answer_prime_error
from prime_cli.hub.routes.router import Router


class Greeting(msgspec.Struct):
    text: str | None = None


router = Router()


@router.get("/greetings/latest", "Show the latest greeting")
async def latest(request: Request) -> Greeting:
    return Greeting("latest")


@router.get("/greetings/{name}", "Show a greeting", enveloped=False)
async def named(request: Request) -> Greeting:
    return Greeting(request.path_params["name"])


@router.post("/greetings", "Send a greeting", enveloped=False, status=201, most_bytes=40)
async def send(request: Request, body: Greeting) -> Greeting:
    return body


@router.put("/greetings", "Send a greeting exactly", enveloped=False, keeps_nulls=True)
async def send_exactly(request: Request, body: dict[str, Any]) -> dict[str, Any]:
    return body


@router.get("/plain", "Show plain text", answers=str)
async def plain(request: Request) -> Response:
    return PlainTextResponse("hello")


@router.page("/welcome")
async def welcome(request: Request) -> Response:
    return PlainTextResponse("welcome")


APP = Starlette(
    routes=[*(operation.route() for operation in router.operations), *router.pages],
    exception_handlers={PrimeError: answer_prime_error},
)


def ask(method: str, path: str, content: bytes | None = None) -> tuple[int, str]:
    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(APP)
        async with httpx.AsyncClient(transport=transport, base_url="http://hub.local") as client:
            return await client.request(method, path, content=content)

    reply = asyncio.run(send())
    return reply.status_code, reply.text


def test_the_route_declared_first_answers() -> None:
    assert ask("GET", "/greetings/latest") == (200, '{"data":{"text":"latest"}}')
    assert ask("GET", "/greetings/ada") == (200, '{"text":"ada"}')


def test_the_body_has_the_type_of_its_parameter() -> None:
    assert ask("POST", "/greetings", b'{"text":"hi","more":null}') == (201, '{"text":"hi"}')
    assert ask("POST", "/greetings", b'{"text":1}')[0] == 422


def test_a_body_beyond_the_limit_is_refused() -> None:
    status, text = ask("POST", "/greetings", b'{"text":"' + b"x" * 40 + b'"}')
    assert (status, "40 bytes" in text) == (413, True)


@pytest.mark.parametrize("content", [b'{"text":null}', b"{}"])
def test_nulls_are_kept_where_the_route_says_so(content: bytes) -> None:
    assert ask("PUT", "/greetings", content) == (200, content.decode())


def test_a_response_is_sent_as_it_is() -> None:
    assert ask("GET", "/plain") == (200, "hello")
    assert ask("GET", "/welcome") == (200, "welcome")


def test_operations_have_the_types_of_the_annotations() -> None:
    types = [(each.method, each.takes, each.answers) for each in router.operations]
    assert types == [
        ("GET", None, Greeting),
        ("GET", None, Greeting),
        ("POST", Greeting, Greeting),
        ("PUT", dict[str, Any], dict[str, Any]),
        ("GET", None, str),
    ]


@pytest.mark.parametrize("of_api", [True, False])
def test_no_two_modules_answer_the_same_request(of_api: bool) -> None:
    """Modules are found by their names, so their order must not decide who answers."""
    routes = {
        id(route): (number, route)
        for number, each in enumerate((*ROUTERS, *find_page_routers()))
        for route in ([one.route() for one in each.operations] if of_api else each.pages)
    }
    for number, route in routes.values():
        path, method = re.sub(r"{[^}]*}", "1", route.path), min(route.methods or ())
        request = {"type": "http", "method": method, "path": path}
        matching = {n for n, one in routes.values() if one.matches(request)[0] is Match.FULL}
        assert matching == {number}, f"{method} {route.path}"
