"""The gateway itself: listening on this machine, checking the run's token, answering."""

import asyncio
import hmac
import os
import secrets
import shutil
import socket
import sys
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, aclosing
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.builtin import BuiltinModels
from prime_cli.models.gateway.calls import (
    Call,
    CallFailed,
    Handler,
    Reply,
    Step,
    WaitStatus,
    chain,
    error_body,
    read_head,
    read_identity,
)
from prime_cli.models.gateway.completion_cache import CompletionCache
from prime_cli.models.gateway.holds import CallHold, KeyRefusals
from prime_cli.models.gateway.ledger import Ledger
from prime_cli.models.gateway.limits.endpoint_limits import EndpointLimits
from prime_cli.models.gateway.oracle import GoldAnswers, Script
from prime_cli.models.gateway.replay import Recording, ReplayStep
from prime_cli.models.gateway.retries import Retries
from prime_cli.models.gateway.settings import GatewaySettings, HubRelay, OpenRelay
from prime_cli.models.gateway.sockets import SOCKET, make_socket_folder, remove_left_sockets
from prime_cli.models.gateway.streams import ask_for_usage
from prime_cli.models.gateway.upstream import EndpointPool, ModelRouter, allow_only_model_calls
from prime_cli.models.registry import Registry
from prime_cli.runtime.variables import HUB

_LARGEST_REQUEST = 512 * 1024 * 1024
_LONGEST_SOCKET_PATH = 100  # sun_path holds 104 bytes on macOS, 108 on Linux


class Gateway:
    """All model calls of one run; an async context manager.

    Inside: `base_url` and `socket_path` (None where the system has no Unix sockets) are where it
    listens, `token` is the bearer token that the worker is given in place of a key. `ledger` holds
    what was spent, `hold` what still passes. The rollouts that `saved` has are answered from there.
    `say` is told what calls are changed to.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        registry: Registry | None = None,
        *,
        run_id: str = "run",
        gold: GoldAnswers | None = None,
        environ: Mapping[str, str] | None = None,
        offline: bool = False,
        settings: GatewaySettings | None = None,
        recording: Recording | None = None,
        saved: Recording | None = None,
        script: Script | None = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        settings = settings or GatewaySettings()
        self.token = secrets.token_urlsafe(32)
        self._accepted = [each.encode() for each in (self.token, *settings.also_accepted)]
        self.base_url = ""
        self.socket_path: Path | None = None
        self._upstream = EndpointPool()
        self.ledger = Ledger(
            (endpoint.model, endpoint.alias), price_of=settings.price_of, budget=settings.budget
        )
        refusals = KeyRefusals(endpoint) if settings.fail_fast else None
        self.hold = CallHold(settings.price_of, settings.budget, refusals)
        self._stack = AsyncExitStack()
        self._limits = EndpointLimits(
            self.hold.guard(self._upstream.send),
            folder=settings.limits_folder,
            call_seconds=settings.call_seconds,
            idle_seconds=settings.idle_seconds,
        )
        self._retries = Retries(settings.retries)
        router = ModelRouter(
            endpoint,
            registry or Registry(),
            send=self._limits.send,
            is_free=self._limits.is_free,
            builtin=BuiltinModels(gold or GoldAnswers(), run_id, recording, script),
            environ=os.environ if environ is None else environ,
            offline=offline,
            sandboxed=settings.sandboxed,
            say=say,
            policy_of=settings.policy_of,
            others=settings.others,
        )
        replayed = None
        if saved is not None:
            builtin = BuiltinModels(gold or GoldAnswers(), run_id, saved)
            replayed = ReplayStep(saved, builtin)
        say = say or (lambda _: None)
        self._answer = chain(tuple(self._steps(settings, router, replayed, say)), router)
        self._hub = _Hub(settings.hub, say)

    def _steps(
        self,
        settings: GatewaySettings,
        router: ModelRouter,
        replayed: ReplayStep | None,
        say: Callable[[str], None],
    ) -> Iterator[Step]:
        """What a call passes before it is routed, outermost first."""
        if settings.sandboxed:
            yield allow_only_model_calls
        if settings.tap:
            yield settings.tap
        yield _responses_step(router, replayed, say)
        if replayed:
            yield replayed
        yield ask_for_usage
        if settings.cache:
            # Before everything that limits, counts and caps calls: a hit is not a call.
            yield CompletionCache(settings.cache, router.group_of, self.ledger.add_hit).answer
        yield self._retries
        yield self.hold.admit
        # Innermost: retried or useless answers were spent all the same.
        yield self.ledger.read_answers

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            stack.callback(self._limits.close)
            await stack.enter_async_context(self._upstream)
            stack.push_async_callback(self._hub.end_sandboxes)
            server = web.Server(
                self._serve,
                request_factory=_large_request,
                handler_cancellation=True,
                access_log=None,
            )
            runner = web.ServerRunner(server, access_log=None, shutdown_timeout=1.0)
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            port = await _listen_on_loopback(runner)
            self.base_url = f"http://127.0.0.1:{port}/v1"
            self.socket_path = await _listen_on_socket(runner, stack)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    def waits(self) -> WaitStatus:
        """What calls wait for at this moment."""
        return WaitStatus(
            calls=self._retries.under_way,
            held=self._retries.held + self._limits.waiting,
            next_seconds=max(self._retries.next_seconds, self._limits.next_seconds),
            silent_seconds=self._limits.silent_seconds,
        )

    async def end_sandboxes(self) -> None:
        """End all sandboxes that were made so far, as those of a worker that died."""
        await self._hub.end_sandboxes()

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            if request.path.startswith(f"{HUB}/"):
                return await self._hub.answer(request, self._check_token)
            self._check_token(request.headers)
            call = _read_call(request, await request.read())
            reply = await self._answer(call)
        except CallFailed as failure:
            body = error_body(failure.message, code=failure.code, blame=failure.blame)
            reply = Reply(failure.status, body, {"content-type": "application/json"})
        if reply.chunks is not None:
            return await _send_stream(request, reply, reply.chunks)
        if reply.status >= HTTPStatus.BAD_REQUEST:
            # OpenAI's clients obey this; otherwise they would multiply our retries by theirs.
            reply.headers["x-should-retry"] = "false"
        return web.Response(status=reply.status, body=reply.body, headers=reply.headers)

    def _check_token(self, headers: Mapping[str, str]) -> None:
        scheme, _, given = headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            given = headers.get("x-api-key", "")
        sent = given.encode("utf-8", "replace")
        if not any(hmac.compare_digest(sent, accepted) for accepted in self._accepted):
            raise CallFailed(
                "This gateway only accepts the token of its run",
                status=401,
                blame="environment",
                code="invalid_api_key",
            )


NO_SANDBOXES = "This run has no sandboxes (`--sandbox-provider` chooses them)"


class _Hub:
    """The API of sandboxes, which few environments use: loaded with the first call."""

    def __init__(self, open_relay: OpenRelay | None, say: Callable[[str], None]) -> None:
        self._open = open_relay
        self._say = say
        self._relay: HubRelay | None = None

    async def answer(
        self, request: web.BaseRequest, check: Callable[[Mapping[str, str]], None]
    ) -> web.StreamResponse:
        """Pass a request on; `check` is for those without a token of a single sandbox."""
        if self._open is None:
            # As a hub refuses what it never has, which clients show and do not ask for again.
            from prime_cli.models.gateway.reverse_proxy import refusal

            return refusal(HTTPStatus.UNPROCESSABLE_ENTITY, NO_SANDBOXES)
        self._relay = self._relay or self._open(self._say)
        return await self._relay.answer(request, check)

    async def end_sandboxes(self) -> None:
        """End all sandboxes of the run."""
        if self._relay is not None:
            await self._relay.end_sandboxes()


def _responses_step(
    router: ModelRouter, replayed: ReplayStep | None, say: Callable[[str], None]
) -> Step:
    """Calls to the Responses API, which few environments make: loaded with the first one."""
    loaded: list[Step] = []

    async def answer(call: Call, handler: Handler) -> Reply:
        if (call.method, call.path) != ("POST", "responses"):
            return await handler(call)
        if not loaded:
            from prime_cli.models.gateway.responses import ResponsesApi

            is_saved = replayed.answers if replayed is not None else (lambda _: False)
            loaded.append(ResponsesApi(router.group_of, is_saved, say))
        return await loaded[0](call, handler)

    return answer


def _read_call(request: web.BaseRequest, body: bytes) -> Call:
    path, _, query = request.raw_path.partition("?")
    identity, path = read_identity(path, request.headers)
    if not path.startswith("/v1/") or ".." in path or "%2e" in path.lower():
        raise CallFailed(
            f"{path} is not a path in /v1", status=404, blame="environment", code="not_found"
        )
    rest = path.removeprefix("/v1/").strip("/")
    head = read_head(body)
    return Call(request.method, rest, query, request.headers, body, identity, head)


async def _send_stream(
    request: web.BaseRequest, reply: Reply, chunks: AsyncGenerator[bytes, None]
) -> web.StreamResponse:
    response = web.StreamResponse(status=reply.status, headers=reply.headers)
    async with aclosing(chunks):
        # Started before anything can fail: an unstarted one would hold its slot forever.
        first = await anext(chunks, b"")
        await response.prepare(request)
        if first:
            await response.write(first)
        async for chunk in chunks:
            await response.write(chunk)
    await response.write_eof()
    return response


def _large_request(
    message: Any, payload: Any, protocol: Any, writer: Any, task: "asyncio.Task[None]"
) -> web.BaseRequest:
    # aiohttp refuses bodies over 1 MB by default; images and long rollouts are larger.
    loop = asyncio.get_running_loop()
    return web.BaseRequest(
        message, payload, protocol, writer, task, loop, client_max_size=_LARGEST_REQUEST
    )


async def _listen_on_loopback(runner: web.ServerRunner) -> int:
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    port: int = listener.getsockname()[1]
    await web.SockSite(runner, listener, backlog=1024).start()
    return port


async def _listen_on_socket(runner: web.ServerRunner, stack: AsyncExitStack) -> Path | None:
    if sys.platform == "win32" or not hasattr(socket, "AF_UNIX"):
        return None
    remove_left_sockets()
    folder = make_socket_folder()
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    path = folder / SOCKET
    if len(os.fsencode(path)) > _LONGEST_SOCKET_PATH:
        return None
    await web.UnixSite(runner, path, backlog=1024).start()
    return path
