"""Addresses of the API, each with what it takes and gives: routing and `/openapi.json` use both."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from prime_cli.hub.routes.parameters import Parameter
from prime_cli.hub.routes.reading import caller_of
from prime_cli.hub.services.access import require_user

Endpoint = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True)
class Operation:
    """One method of one address below the API.

    `answers` is the wire type of the answer, inside `{"data": …}` if `enveloped`, or None for an
    answer that is no JSON; `takes` is that of the body, or None. `needs_key` says that nobody
    without a key is answered, on a hub with accounts.
    """

    method: str
    path: str
    endpoint: Endpoint
    summary: str
    answers: Any = None
    takes: Any = None
    query: tuple[Parameter, ...] = ()
    enveloped: bool = True
    needs_key: bool = False
    status: int = 200

    def route(self) -> Route:
        """Where the router finds it."""
        endpoint = _with_key(self.endpoint) if self.needs_key else self.endpoint
        return Route(self.path, endpoint, methods=[self.method])


def _with_key(endpoint: Endpoint) -> Endpoint:
    """`endpoint` for callers with a key: others are refused before anything is read of them."""

    async def answer(request: Request) -> Response:
        require_user(caller_of(request))
        return await endpoint(request)

    return answer
