"""Route calls by the name of their model, and send them to an endpoint."""

import io
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from http import HTTPStatus
from itertools import cycle, islice
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from prime_cli.core.errors import NotAllowed, PrimeError
from prime_cli.models.endpoint_resolution import BY_NAME, endpoint_of, resolve_endpoint
from prime_cli.models.endpoints import Endpoint, check_offline
from prime_cli.models.gateway import repair
from prime_cli.models.gateway.builtin import BuiltinModels
from prime_cli.models.gateway.calls import (
    NOT_DONE,
    POLICY,
    Call,
    CallFailed,
    Handler,
    Reply,
    error_body,
    with_fields,
)
from prime_cli.models.gateway.connections import Connections, failures, proxy_for
from prime_cli.models.gateway.retries import is_rate_header
from prime_cli.models.gateway.streams import event
from prime_cli.models.providers import AUTHORIZATION
from prime_cli.models.registry import Registry

_ANSWERING = frozenset(
    (
        "audio/speech audio/transcriptions chat/completions completions embeddings "
        "images/generations messages moderations rerank responses"
    ).split()
)


async def allow_only_model_calls(call: Call, handler: Handler) -> Reply:
    """A step that lets only calls of models through, and lists them.

    With the user's key an endpoint would also return, or delete, the account's contents: files,
    stored answers, batches, fine-tuned models.
    """
    asks_a_model = call.method == "POST" and call.path in _ANSWERING
    if not asks_a_model and (call.method, call.path) != ("GET", "models"):
        raise CallFailed(
            f"{call.method} /v1/{call.path} is not a model call, and a sandbox allows nothing else",
            status=403,
            blame="environment",
            code="not_allowed_in_sandbox",
        )
    return await handler(call)


Send = Callable[[Endpoint, Call], Awaitable[Reply]]
"""Sends a call to an endpoint."""


class RoundRobin:
    """The members of a group, in turn."""

    def __init__(self, group: tuple[Endpoint, ...]) -> None:
        self.group = group
        self._size = len(group)
        self._turns = cycle(group)

    def take(self, is_free: Callable[[Endpoint], bool] | None) -> Endpoint:
        """The next free one; the next of all if none is."""
        if self._size == 1 or is_free is None:
            return next(self._turns)
        candidates = list(islice(self._turns, self._size))
        chosen = next((n for n, member in enumerate(candidates) if is_free(member)), 0)
        for _ in range(chosen + 1):  # the next turn is that of the one after
            next(self._turns)
        return candidates[chosen]


class ModelRouter:
    """The end of the chain: the run's model goes to its endpoint, others where they are known.

    Other names are looked up in the registry, then sent where `-m` would send them, with that key,
    but not if `sandboxed`, unless the run itself uses both. A group of endpoints is
    used in turn; members that are not `is_free` are skipped, unless none is. `say` is told which
    service and key a name stands for, where neither the run nor the registry says so. `policy_of`
    decides first where the policy's calls of the run's model go, and may leave it open. With
    `others` that endpoint answers for every other name.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        registry: Registry,
        *,
        send: Send,
        builtin: BuiltinModels,
        environ: Mapping[str, str],
        offline: bool,
        is_free: Callable[[Endpoint], bool] | None = None,
        sandboxed: bool = False,
        say: Callable[[str], None] | None = None,
        policy_of: Callable[[Call], Endpoint | None] | None = None,
        others: Endpoint | None = None,
    ) -> None:
        self._others = others
        self._policy_of = policy_of
        self._is_free = is_free
        self._say = say
        self._run = endpoint
        self._registry = registry
        self._send = send
        self._builtin = builtin
        self._environ = environ
        self._offline = offline
        self._sandboxed = sandboxed
        self._takes_no_nulls: set[str] = set()
        self._own = own = RoundRobin(endpoint.group)
        self._routes: dict[str | None, RoundRobin] = {None: own, endpoint.model: own}
        if endpoint.alias is not None:
            self._routes[endpoint.alias] = own

    async def __call__(self, call: Call) -> Reply:
        endpoint = self._policy(call) or self._route(call.head.model).take(self._is_free)
        if endpoint.builtin:
            reply = await self._builtin(call, endpoint.model)
        else:
            reply = await self._forward(call, endpoint)
        reply.endpoint = endpoint
        return reply

    def _policy(self, call: Call) -> Endpoint | None:
        if self._policy_of is None or self._routes.get(call.head.model) is not self._own:
            return None
        # Without an address of its own the run's model is the policy for judges, too.
        is_elsewhere = not self._run.url and not self._run.builtin
        return self._policy_of(call) if call.identity.role == POLICY or is_elsewhere else None

    def group_of(self, model: str | None) -> tuple[Endpoint, ...]:
        """The endpoints for calls to `model`; raises CallFailed if there are none."""
        return self._route(model).group

    def _route(self, model: str | None) -> RoundRobin:
        route = self._routes.get(model)
        return self._learn(model or "") if route is None else route

    async def _forward(self, call: Call, endpoint: Endpoint) -> Reply:
        if call.head.model not in (None, endpoint.model):
            call = replace(call, body=with_fields(call.body, model=endpoint.model))
        may_have_nulls = b"null" in call.body
        if may_have_nulls and endpoint.url in self._takes_no_nulls:
            call = _without_nulls(call)
        reply = await self._send(endpoint, call)
        if may_have_nulls and reply.status in _OF_NULLS:
            return await self._after_failure(endpoint, call, reply)
        return reply

    async def _after_failure(self, endpoint: Endpoint, call: Call, reply: Reply) -> Reply:
        """The answer to the same without nulls, if they may be why the server failed."""
        shorter = _without_nulls(call)
        if shorter is call or not repair.may_be_of_nulls(reply):
            return reply
        # Noted first: the server may also close the connection, and the call is then retried.
        if endpoint.url not in self._takes_no_nulls:
            self._takes_no_nulls.add(endpoint.url)
            if self._say:
                self._say(repair.sentence(endpoint.url))
        return await self._send(endpoint, shorter)

    def _learn(self, name: str) -> RoundRobin:
        try:
            endpoint = self._find(name)
            if self._offline:
                check_offline(endpoint)
        except PrimeError as error:
            raise CallFailed(
                f"`{name}` is not the model of this run (`{self._run.model}`), "
                f"and nothing else serves it: {error.message}; add it to "
                "endpoints.toml, or set OPENAI_API_KEY (and OPENAI_BASE_URL)",
                status=404,
                blame="environment",
                code="model_not_found",
            ) from error
        if endpoint.chosen_by == BY_NAME and endpoint.said and self._say:
            self._say(endpoint.said)
        route = self._routes[name] = RoundRobin(endpoint.group)
        return route

    def _find(self, name: str) -> Endpoint:
        if self._others is not None:
            return self._others
        entries = self._registry.find(name)
        if entries:
            return endpoint_of(entries, name, self._environ)
        found = resolve_endpoint(name, None, None, Registry(), self._environ)
        known = {(member.address, member.key) for member in self._run.group}
        if self._sandboxed and (found.address, found.key) not in known:
            raise NotAllowed(f"a sandbox does not call {found.url} with a key that was not given")
        return found


def _without_nulls(call: Call) -> Call:
    body = repair.without_nulls(call.body)
    return call if body is None else replace(call, body=body)


CONNECT_SECONDS = 15.0
_OF_NULLS = (HTTPStatus.BAD_REQUEST, HTTPStatus.INTERNAL_SERVER_ERROR)

_LARGE_BODY = 2**20

# The worker's own credentials, hop-by-hop headers (RFC 9110, 7.6.1), what aiohttp sets itself.
_NOT_FORWARDED = frozenset(
    (
        "accept-encoding api-key authorization connection content-length cookie host keep-alive "
        "proxy-authorization te trailer transfer-encoding upgrade user-agent x-api-key"
    ).split()
)
_NOT_FORWARDED_PREFIXES = ("x-prime-", "x-stainless-", "x-forwarded-")
_RETURNED = ("content-type", "x-request-id", NOT_DONE)


class EndpointPool:
    """A pool of connections to endpoints; an async context manager."""

    async def __aenter__(self) -> Self:
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS)
        self._connections = Connections(timeout)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._connections.close()

    async def send(self, endpoint: Endpoint, call: Call) -> Reply:
        """The endpoint's answer, whatever its status; raises CallFailed if there is none."""
        try:
            response = await self._connections.request(
                call.method,
                _parsed(endpoint.url_of(call.path, call.query)),
                data=_payload(call.body),
                headers=authorized(endpoint, _forwarded(call.headers)),
            )
            if _is_stream(response):
                return Reply(200, headers=_returned(response), chunks=_chunks(response))
            async with response:
                body = await response.read()
        except failures() as error:
            raise _no_answer(endpoint, error) from error
        except PrimeError as error:  # of a proxy or a certificate
            raise CallFailed(
                error.message, status=502, blame="infra", code="no_answer", retryable=False
            ) from error
        if HTTPStatus.MULTIPLE_CHOICES <= response.status < HTTPStatus.BAD_REQUEST:
            raise _redirected(endpoint, response.headers.get("Location", "nowhere"))
        return Reply(response.status, body, _returned(response))


def _payload(body: bytes) -> bytes | io.BytesIO | None:
    # aiohttp writes bytes in one piece, and warns where that could block for long.
    return io.BytesIO(body) if len(body) > _LARGE_BODY else body or None


@lru_cache(maxsize=256)
def _parsed(url: str) -> URL:
    return URL(url, encoded=True)


def authorized(endpoint: Endpoint, headers: Mapping[str, str]) -> dict[str, str]:
    """`headers` with the endpoint's key and its own headers, which take precedence."""
    named = {name.lower() for name in endpoint.headers}
    kept = {name: value for name, value in headers.items() if name.lower() not in named}
    if endpoint.key is not None and not named & {"authorization", endpoint.key_header}:
        key = endpoint.key.reveal()
        is_bearer = endpoint.key_header == AUTHORIZATION
        kept[endpoint.key_header] = f"Bearer {key}" if is_bearer else key
    return {**kept, **endpoint.headers}


def _forwarded(received: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in received.items() if _is_forwarded(name)}


@lru_cache(maxsize=512)
def _is_forwarded(name: str) -> bool:
    name = name.lower()
    return name not in _NOT_FORWARDED and not name.startswith(_NOT_FORWARDED_PREFIXES)


def _is_stream(response: aiohttp.ClientResponse) -> bool:
    return response.status == HTTPStatus.OK and response.content_type == "text/event-stream"


def _returned(response: aiohttp.ClientResponse) -> dict[str, str]:
    found = ((_returned_as(name), value) for name, value in response.headers.items())
    return {name: value for name, value in found if name}


@lru_cache(maxsize=512)
def _returned_as(name: str) -> str:
    name = name.lower()
    return name if name in _RETURNED or is_rate_header(name) else ""


async def _chunks(response: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
    # Leaving the block early (the caller hung up) closes the connection, so that the
    # endpoint stops generating.
    async with response:
        try:
            async for chunk in response.content.iter_any():
                yield chunk
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            message = f"The stream broke off: {error or type(error).__name__}"
            yield event(error_body(message, code="stream_broken", blame="infra"))


def _no_answer(endpoint: Endpoint, error: Exception) -> CallFailed:
    where = urlsplit(endpoint.url).netloc
    certificate = isinstance(error, aiohttp.ClientConnectorCertificateError)
    if isinstance(error, aiohttp.ClientProxyConnectionError | aiohttp.ClientHttpProxyError):
        proxy = urlsplit(proxy_for(endpoint.url) or "")
        where += f" through the proxy {proxy.hostname}:{proxy.port}"
    return CallFailed(
        f"No answer from {where}: {error or type(error).__name__}",
        status=502,
        blame="infra",
        code="no_answer",
        retryable=not certificate,
    )


def _redirected(endpoint: Endpoint, location: str) -> CallFailed:
    return CallFailed(
        f"{urlsplit(endpoint.url).netloc} redirects to {location}, where the key is not sent; "
        "give the final URL with `-b URL`",
        status=502,
        blame="infra",
        code="redirected",
    )
