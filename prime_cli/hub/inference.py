"""Models behind the hub: OpenAI's API, answered by endpoints whose keys only the hub has.

Calls take the steps of a run's gateway: a deadline and the endpoint's own limits, retries, and a
count of what was used. Imported only by hubs that serve models: it needs the gateway's libraries.
"""

import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from http import HTTPStatus

from anyio import CancelScope
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from prime_cli.core.errors import PrimeError
from prime_cli.hub.dispatch import call, hub_of, run
from prime_cli.hub.routes.requests import read_body
from prime_cli.hub.routes.responses import answer, withhold_inside
from prime_cli.hub.services.usage import add_usage, find_payer, require_budget
from prime_cli.models.endpoint_resolution import endpoint_of
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.calls import (
    Call,
    CallFailed,
    CallIdentity,
    Reply,
    chain,
    error_body,
    read_head,
    with_fields,
)
from prime_cli.models.gateway.ledger import Ledger
from prime_cli.models.gateway.limits.endpoint_limits import EndpointLimits
from prime_cli.models.gateway.retries import Retries, RetryPolicy
from prime_cli.models.gateway.streams import ask_for_usage
from prime_cli.models.gateway.upstream import EndpointPool, RoundRobin
from prime_cli.models.price_book import PriceBook
from prime_cli.models.prices import Spend
from prime_cli.models.registry import Registry
from prime_cli.wire.inference import ModelItem, ModelList, ModelPricing
from prime_cli.wire.problems import headers_of, status_of

PATHS = ("chat/completions", "completions", "embeddings")
"""What is passed on, below the API."""

_CALL_SECONDS = 1800.0
_IDLE_SECONDS = 300.0
# A client retries too; a hub that waited for minutes would only hide why.
_POLICY = RetryPolicy(
    rate_limited=3, overloaded=3, connection=2, server_error=2, too_late=0, patience_s=30.0
)

_LARGEST_BODY = 64 * 1024 * 1024
_TEAM = "x-prime-team-id"
"""How official clients name the team that pays."""

# --- The models ---


class Inference:
    """The models of a registry. Calls are made within `open`, in one event loop.

    `on_spend` is told what each call used, by the alias of the model.
    """

    def __init__(
        self, registry: Registry, prices: PriceBook, *, environ: Mapping[str, str] | None = None
    ) -> None:
        environ = os.environ if environ is None else environ
        self._prices = prices
        # An entry without its key is found before anybody calls it.
        self._groups = {
            alias: RoundRobin(endpoint_of(registry.find(alias), alias, environ).group)
            for alias in registry.aliases
        }
        self._pool = EndpointPool()
        self.on_spend: Callable[[str, Spend], None] = lambda _model, _spend: None
        self._limits = EndpointLimits(
            self._pool.send, folder=None, call_seconds=_CALL_SECONDS, idle_seconds=_IDLE_SECONDS
        )
        self._retries = Retries(_POLICY)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Keep connections to the endpoints for the block."""
        async with self._pool:
            try:
                yield
            finally:
                self._limits.close()

    def models(self) -> ModelList:
        """Every alias, which is what calls name."""
        return ModelList([self._item(alias) for alias in self._groups])

    def model(self, name: str) -> ModelItem | None:
        """One of them, or None."""
        return self._item(name) if name in self._groups else None

    def new_ledger(self) -> Ledger:
        """What counts the use of one call; complete once the chunks of its reply have been read."""
        return Ledger(price_of=self._prices.price_of)

    async def answer(self, call: Call, ledger: Ledger) -> Reply:
        """The reply of the endpoint, whatever its status; raises CallFailed if there is none."""
        steps = (ask_for_usage, self._retries, ledger.read_answers)
        return await chain(steps, self._send)(call)

    async def _send(self, call: Call) -> Reply:
        endpoint = self._choose(call.head.model or "")
        if call.head.model != endpoint.model:
            call = replace(call, body=with_fields(call.body, model=endpoint.model))
        reply = await self._limits.send(endpoint, call)
        reply.endpoint = endpoint
        return reply

    def _choose(self, name: str) -> Endpoint:
        found = self._groups.get(name)
        if found is None:
            known = ", ".join(self._groups)
            raise CallFailed(
                f"This hub does not serve `{name[:200]}`; it serves {known or 'no models'}",
                status=404,
                blame="environment",
                code="model_not_found",
            )
        return found.take(self._limits.is_free)

    def _item(self, alias: str) -> ModelItem:
        price = self._prices.price_of(self._groups[alias].group[0])
        pricing = None if price is None else ModelPricing(price.input, price.output)
        return ModelItem(alias, pricing=pricing)


# --- Their routes ---


def routes(inference: Inference) -> list[Route]:
    """The routes below the API, for callers with a key."""
    return [
        Route("/models", _route(_list_models, inference), methods=["GET"]),
        Route("/models/{name:path}", _route(_show_model, inference), methods=["GET"]),
        *(Route(f"/{path}", _route(_complete, inference), methods=["POST"]) for path in PATHS),
    ]


def _route(
    handler: Callable[[Request, Inference], Awaitable[Response]], inference: Inference
) -> Callable[[Request], Awaitable[Response]]:
    """`handler`, whose failures are answered in OpenAI's form, which its clients read."""

    async def respond(request: Request) -> Response:
        try:
            return await handler(request, inference)
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
