"""Routes, declared by a decorator on a function; `/openapi.json` describes the same."""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, TypedDict, TypeVar, Unpack

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from prime_cli.hub.browser_cookies import act_for_session
from prime_cli.hub.dispatch import caller_of
from prime_cli.hub.routes.requests import LARGEST_BODY, read_exact_json, read_json
from prime_cli.hub.routes.responses import answer, enveloped, is_too_long, refuse_address
from prime_cli.hub.services.access import require_user
from prime_cli.hub.urls import is_page
from prime_cli.wire.queries import Parameter, parameters_of, read_query

Handler = TypeVar("Handler", bound=Callable[..., Awaitable[Any]])
_Endpoint = Callable[[Request], Awaitable[Response]]


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
