"""Routes: declared by a decorator on a function, and found by the first part of their paths.

`/openapi.json` describes the same.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from functools import wraps
from typing import Any, TypedDict, TypeVar, Unpack

from msgspec import Struct
from starlette import routing
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Receive, Scope, Send

from prime_cli.hub.browser_cookies import act_for_session
from prime_cli.hub.dispatch import caller_of
from prime_cli.hub.routes.requests import LARGEST_BODY, read_exact_json, read_json
from prime_cli.hub.routes.responses import answer, enveloped, is_too_long, refuse_address
from prime_cli.hub.services.access import require_user
from prime_cli.hub.urls import is_page
from prime_cli.wire.queries import Parameter, parameters_of, read_query

Handler = TypeVar("Handler", bound=Callable[..., Awaitable[Any]])
_Endpoint = Callable[[Request], Awaitable[Response]]

ANYTHING = "{path:path}"
"""The end of a path that stands for all addresses that are below it and have no other route."""


class Operation(Struct, frozen=True):
    """One method of one address below the API.

    `answers` is the wire type of the answer, inside `{"data": …}` if `enveloped`; `takes` is that
    of the body, and `query` that of the query string (`wire.queries`), or None. `needs_key` means
    that a hub with accounts refuses callers without a key before anything else is read. Null in a
    body means left out unless `keeps_nulls`.
    """

    method: str
    path: str
    handler: Callable[..., Awaitable[Any]]
    summary: str
    answers: Any
    takes: Any
    query: type | None = None
    enveloped: bool = True
    needs_key: bool = False
    status: int = 200
    most_bytes: int = LARGEST_BODY
    keeps_nulls: bool = False

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters of the query string."""
        return parameters_of(self.query) if self.query is not None else ()

    def route(self) -> Route:
        """The route, for Starlette's router."""
        return Route(self.path, self._endpoint(), methods=[self.method])

    def _endpoint(self) -> _Endpoint:
        """Refuses callers without a key, reads the body, and encodes what the handler returns."""
        body_type = self.takes if "body" in self.handler.__annotations__ else None
        read = read_exact_json if self.keeps_nulls else read_json
        respond = enveloped if self.enveloped else answer

        async def endpoint(request: Request) -> Response:
            if self.needs_key:
                require_user(caller_of(request))
            given: dict[str, Any] = {}
            if body_type is not None:
                given["body"] = await read(request, body_type, self.most_bytes)
            if self.query is not None:
                given["query"] = read_query(self.query, request.query_params.getlist)
            reply = await self.handler(request, **given)
            return reply if isinstance(reply, Response) else respond(reply, self.status)

        return endpoint


class RouteOptions(TypedDict, total=False):
    """What a route may say beyond its address and summary, as in `Operation`.

    `answers` and `takes` stand in for the annotations of a function that returns a `Response`,
    reads the body itself, or serves several types.
    """

    answers: Any
    takes: Any
    enveloped: bool
    needs_key: bool
    status: int
    most_bytes: int
    keeps_nulls: bool


class Router:
    """The routes of one module, in the order of its functions.

    A function below the API takes the request, the body as `body` and the query string as `query`
    if it has these parameters; it returns the wire struct of the answer, or a `Response`. The types
    are read from its annotations. `defaults` hold for all routes that say nothing else.
    """

    def __init__(self, **defaults: Unpack[RouteOptions]) -> None:
        self.operations: list[Operation] = []
        self.pages: list[Route] = []
        self._defaults = defaults

    def get(
        self, path: str, summary: str, **options: Unpack[RouteOptions]
    ) -> Callable[[Handler], Handler]:
        """Answer GET of `path` below the API with the decorated function."""
        return self.route("GET", path, summary, **options)

    def post(
        self, path: str, summary: str, **options: Unpack[RouteOptions]
    ) -> Callable[[Handler], Handler]:
        """The same for POST."""
        return self.route("POST", path, summary, **options)

    def put(
        self, path: str, summary: str, **options: Unpack[RouteOptions]
    ) -> Callable[[Handler], Handler]:
        """The same for PUT."""
        return self.route("PUT", path, summary, **options)

    def patch(
        self, path: str, summary: str, **options: Unpack[RouteOptions]
    ) -> Callable[[Handler], Handler]:
        """The same for PATCH."""
        return self.route("PATCH", path, summary, **options)

    def delete(
        self, path: str, summary: str, **options: Unpack[RouteOptions]
    ) -> Callable[[Handler], Handler]:
        """The same for DELETE."""
        return self.route("DELETE", path, summary, **options)

    def route(
        self, method: str, path: str, summary: str, **options: Unpack[RouteOptions]
    ) -> Callable[[Handler], Handler]:
        """Answer `method` of `path` below the API with the decorated function."""

        def declare(handler: Handler) -> Handler:
            types = handler.__annotations__
            derived: RouteOptions = {"answers": types["return"], "takes": types.get("body")}
            settings: RouteOptions = {**derived, **self._defaults, **options}
            query = types.get("query")
            self.operations.append(
                Operation(method, path, handler, summary, query=query, **settings)
            )
            return handler

        return declare

    def page(self, path: str, method: str = "GET") -> Callable[[Handler], Handler]:
        """Answer `method` of `path`, outside of the API, with the decorated function.

        Pages that only read show a signed-in browser what its user may see.
        """

        def declare(handler: Handler) -> Handler:
            @wraps(handler)
            async def endpoint(request: Request) -> Response:
                await act_for_session(request)
                if is_page(request.url.path) and is_too_long(request):
                    return refuse_address(request)
                response: Response = await handler(request)
                return response

            self.pages.append(Route(path, endpoint, methods=[method]))
            return handler

        return declare


class ApiRouter:
    """Answers by the first route of a path; each path begins with a literal part.

    Starlette tries all routes in turn: 150 of them take 0.2 ms of each request.

    A method that an address does not have is a 405 that names those it has, though another route
    with a placeholder there has that method. Routes of anything come last.
    """

    def __init__(self, routes: Sequence[Route]) -> None:
        self.routes: Sequence[BaseRoute] = routes
        """All of them, as Starlette's `Mount` shows them."""
        self._areas: defaultdict[str, list[Route]] = defaultdict(list)
        self._methods: defaultdict[str, set[str]] = defaultdict(set)
        for route in routes:
            self._areas[_area(route.path)].append(route)
            if "{" not in route.path:
                self._methods[route.path] |= route.methods or set()
        self._all = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        allowed = set(self._methods.get(path, ()))
        if not allowed or scope.get("method") in allowed:
            for route in self._areas.get(_area(path), self._all):
                if allowed and route.path.endswith(ANYTHING):
                    break
                match, found = route.matches(scope)
                if match is Match.FULL:
                    scope.update(found)
                    await route.handle(scope, receive, send)
                    return
                if match is Match.PARTIAL:
                    allowed |= route.methods or set()
        if not allowed:
            await _NOTHING.not_found(scope, receive, send)
            return
        raise HTTPException(405, headers={"Allow": ", ".join(sorted(allowed))})


_NOTHING = routing.Router()


def _area(path: str) -> str:
    return path.split("/", 2)[1].partition("{")[0] if "/" in path else ""
