"""OpenAI's API for the models that the hub's admin has put into its registry of endpoints."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from http import HTTPStatus

from anyio import CancelScope
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from prime_cli.core.errors import PrimeError
from prime_cli.hub.dispatch import call, hub_of, run
from prime_cli.hub.inference import PATHS, Inference
from prime_cli.hub.routes.requests import read_body
from prime_cli.hub.routes.responses import answer, withhold_inside
from prime_cli.hub.services.usage import add_usage, find_payer, require_budget
from prime_cli.models.gateway.calls import (
    Call,
    CallFailed,
    CallIdentity,
    Reply,
    error_body,
    read_head,
)
from prime_cli.models.prices import Spend
from prime_cli.wire.problems import headers_of, status_of

_LARGEST_BODY = 64 * 1024 * 1024
_TEAM = "x-prime-team-id"
"""How official clients name the team that pays."""

Endpoint = Callable[[Request, Inference], Awaitable[Response]]


def routes(inference: Inference) -> list[Route]:
    """The routes below the API, for callers with a key."""
    return [
        Route("/models", _route(_list_models, inference), methods=["GET"]),
        Route("/models/{name:path}", _route(_show_model, inference), methods=["GET"]),
        *(Route(f"/{path}", _route(_complete, inference), methods=["POST"]) for path in PATHS),
    ]


def _route(endpoint: Endpoint, inference: Inference) -> Callable[[Request], Awaitable[Response]]:
    """`endpoint`, whose failures are answered in OpenAI's form, which its clients read."""

    async def respond(request: Request) -> Response:
        try:
            return await endpoint(request, inference)
        except PrimeError as error:
            shown = withhold_inside(request, error)
            # As OpenAI says it: waiting a moment does not help.
            code = "insufficient_quota" if error.code == "rate_limited" else error.code
            sentence = f"{shown.message}; {shown.hint}" if shown.hint else shown.message
            body = error_body(sentence, code=code, blame="environment")
            return _json(body, status_of(shown), headers_of(shown))
        except CallFailed as failure:
            body = error_body(failure.message, code=failure.code, blame=failure.blame)
            return _json(body, failure.status)

    return respond


async def _list_models(request: Request, inference: Inference) -> Response:
    await call(request, find_payer, request.headers.get(_TEAM))
    return answer(inference.models())


async def _show_model(request: Request, inference: Inference) -> Response:
    await call(request, find_payer, request.headers.get(_TEAM))
    name = request.path_params["name"]
    found = inference.model(name)
    if found is None:
        raise CallFailed(
            f"This hub does not serve `{name[:200]}`",
            status=404,
            blame="environment",
            code="model_not_found",
        )
    return answer(found)


async def _complete(request: Request, inference: Inference) -> Response:
    hub = hub_of(request)
    payer = await call(request, find_payer, request.headers.get(_TEAM))
    await run(hub, require_budget, hub, payer)
    body = bytes(await read_body(request, _LARGEST_BODY))
    head = read_head(body)
    path = request.url.path.partition("/v1/")[2].strip("/")
    made = Call("POST", path, "", request.headers, body, CallIdentity(), head)
    ledger = inference.new_ledger()

    async def charge(spend: Spend) -> None:
        if spend.usage.calls:
            inference.on_spend(head.model or "", spend)
            await run(hub, partial(add_usage, hub, payer, head.model or "", spend))

    try:
        reply = await inference.answer(made, ledger)
    except CallFailed:
        await charge(ledger.spent())
        raise
    if reply.chunks is None:
        await charge(ledger.spent())
        return Response(reply.body, reply.status, reply.headers | _final(reply.status))
    return await ChargedStream.begin(reply, reply.chunks, lambda: charge(ledger.spent()))


def _json(body: bytes, status: int, headers: dict[str, str] | None = None) -> Response:
    return Response(body, status, (headers or {}) | _final(status), media_type="application/json")


def _final(status: int) -> dict[str, str]:
    """OpenAI's clients obey this; otherwise they would multiply the hub's retries by theirs."""
    return {"x-should-retry": "false"} if status >= HTTPStatus.BAD_REQUEST else {}


class ChargedStream(StreamingResponse):
    """A stream of an endpoint, closed and charged however it ends."""

    def __init__(
        self,
        reply: Reply,
        first: bytes,
        chunks: AsyncGenerator[bytes, None],
        charge: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__(_with_first(first, chunks), reply.status, reply.headers)
        self._chunks = chunks
        self._charge = charge

    @classmethod
    async def begin(
        cls,
        reply: Reply,
        chunks: AsyncGenerator[bytes, None],
        charge: Callable[[], Awaitable[None]],
    ) -> "ChargedStream":
        """Read the first chunk: a stream that never began would not give its slot back."""
        try:
            return cls(reply, await anext(chunks, b""), chunks, charge)
        except BaseException:
            with CancelScope(shield=True):
                await charge()
            raise

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            # A caller who hangs up cancels this; what was sent is paid all the same.
            with CancelScope(shield=True):
                await self._chunks.aclose()
                await self._charge()


async def _with_first(
    first: bytes, chunks: AsyncGenerator[bytes, None]
) -> AsyncGenerator[bytes, None]:
    if first:
        yield first
    async for chunk in chunks:
        yield chunk
