"""OpenAI's API for the models that the hub's admin has put into its registry of endpoints."""

from collections.abc import Awaitable, Callable
from functools import partial

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from prime_cli.core.errors import PrimeError
from prime_cli.hub.dispatch import call, hub_of, run
from prime_cli.hub.inference import PATHS, Inference, with_usage
from prime_cli.hub.routes.requests import read_body
from prime_cli.hub.routes.responses import answer, withhold_inside
from prime_cli.hub.services.usage import add_usage, find_payer, require_budget
from prime_cli.models.gateway.calls import (
    Call,
    CallFailed,
    CallIdentity,
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
            body = error_body(shown.message, code=code, blame="environment")
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
        return Response(reply.body, reply.status, reply.headers)
    chunks = with_usage(reply.chunks, lambda: charge(ledger.spent()))
    return StreamingResponse(chunks, reply.status, reply.headers)


def _json(body: bytes, status: int, headers: dict[str, str] | None = None) -> Response:
    return Response(body, status, headers, media_type="application/json")
