"""Request ids, access log lines and request counts."""

import re
import secrets
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from http import HTTPStatus
from itertools import count
from typing import Any

from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prime_cli.core.errors import InternalError
from prime_cli.hub.context import Caller
from prime_cli.hub.serving.access_log import AccessLog, LogEntry, now_text, safe_path, trace_of
from prime_cli.hub.serving.limits import refuse
from prime_cli.hub.serving.monitoring import Metrics

HEADER = b"x-request-id"
UNMATCHED = "-"
GONE = 499
"""The status logged for an abandoned request, as in nginx."""

_PUBLISHING = "/versions/{version_id}/finalize"
_GIVEN_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_NOBODY = Caller()


class ObservabilityMiddleware:
    """Outermost around what can fail: whatever happens inside is logged and counted once.

    A caller's own X-Request-Id is kept if it is plain, else one is made; either way the answer has
    it. `templates` are the addresses of endpoints: they name a route without what a request says.
    """

    def __init__(
        self, app: ASGIApp, *, templates: Mapping[Any, str], log: AccessLog, metrics: Metrics
    ) -> None:
        self.app = app
        self._templates = templates
        self._log = log
        self._metrics = metrics
        self._new_id = _ids()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        seen = _ObservedRequest(scope, send, self._new_id)
        uploading = scope["path"].startswith("/upload/")
        if uploading:
            self._metrics.uploads.inc()
        try:
            await self.app(scope, receive, seen.send)
        except Exception as error:  # noqa: BLE001 - a bug of ours must not stop the server
            seen.error = trace_of(error)
            if not seen.status:
                await refuse(seen.send, InternalError("The hub failed to answer; its log says why"))
        finally:
            if uploading:
                self._metrics.uploads.dec()
            self._record(scope, seen)

    def _route(self, endpoint: Any) -> str:
        # Where nothing below a mount fits, it is the mount's router, which has no hash.
        if not isinstance(endpoint, Hashable):
            return UNMATCHED
        return self._templates.get(endpoint, UNMATCHED)

    def _record(self, scope: Scope, seen: "_ObservedRequest") -> None:
        seconds = time.perf_counter() - seen.started
        state = scope["state"]
        route = self._route(scope.get("endpoint"))
        status = seen.status or GONE
        self._metrics.count(
            route,
            scope["method"],
            status,
            seconds=seconds,
            sent=seen.sent,
            received=state.get("received", 0),
        )
        if status == HTTPStatus.OK and route.endswith(_PUBLISHING):
            self._metrics.publishes.inc()
        caller: Caller = state.get("caller", _NOBODY)
        self._log.add(
            LogEntry(
                time=now_text(),
                method=scope["method"],
                path=safe_path(seen.path),
                status=status,
                ms=round(seconds * 1000, 2),
                bytes=seen.sent,
                address=state.get("address", ""),
                request_id=state["request_id"],
                user=caller.slug or None,
                key_id=caller.key_id,
                error=seen.error,
            )
        )


class _ObservedRequest:
    """A request in progress: what is known of its answer so far."""

    __slots__ = ("_declared", "_id", "_send", "error", "path", "sent", "started", "status")

    def __init__(self, scope: Scope, send: Send, new_id: Callable[[], bytes]) -> None:
        self.started = time.perf_counter()
        # Routing may change the path in the request's scope.
        self.path: str = scope["path"]
        self.status = 0
        self.sent = 0
        self.error: str | None = None
        self._declared = 0
        self._send = send
        given = next((value for name, value in scope["headers"] if name == HEADER), b"")
        self._id = given if _GIVEN_ID.fullmatch(given) else new_id()
        scope.setdefault("state", {})["request_id"] = self._id.decode()

    async def send(self, message: Message) -> None:
        """Pass a part of the answer on."""
        match message["type"]:
            case "http.response.start":
                self.status = message["status"]
                headers = list(message.get("headers", ()))
                self._declared = _content_length(headers)
                headers.append((HEADER, self._id))
                message = {**message, "headers": headers}
            case "http.response.body":
                self.sent += len(message.get("body", b""))
            case "http.response.pathsend":
                self.sent = self._declared
        await self._send(message)


def templates_of(routes: Sequence[BaseRoute], prefix: str = "") -> dict[Any, str]:
    """The address of every endpoint below `routes`, with the names of its parameters.

    For an endpoint with several addresses, the first.
    """
    found: dict[Any, str] = {}
    for route in routes:
        if isinstance(route, Mount):
            inner = templates_of(route.routes, prefix + route.path)
            found = {**inner, **found}
        elif isinstance(route, Route):
            found.setdefault(route.endpoint, prefix + route.path)
    return found


def _content_length(headers: Sequence[tuple[bytes, bytes]]) -> int:
    for name, value in headers:
        if name == b"content-length":
            return int(value)
    return 0


def _ids() -> Callable[[], bytes]:
    """Ids that differ in all processes: random bits of this one, and a number."""
    start = secrets.token_hex(6)
    numbers = count(1)

    def new_id() -> bytes:
        return f"{start}-{next(numbers):x}".encode()

    return new_id
