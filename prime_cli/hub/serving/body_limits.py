"""Limits on request bodies: size, speed and concurrency."""

import asyncio
import time
from collections.abc import Awaitable
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prime_cli.core.errors import RateLimited, TooLarge, TooSlow
from prime_cli.hub.serving.rate_limits import refuse

_WITH_BODY = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_UPLOAD = "/upload/"
_COME_AGAIN = 5


@dataclass(frozen=True)
class Pace:
    """A body must bring `bytes` within every `seconds` that the hub waits for it."""

    bytes: int = 32 * 1024
    seconds: float = 30.0


class BodyLimitMiddleware:
    """Refuses what is too much: an upload by its declared length, any body by its pace.

    At most `uploads` artefacts are taken at the same time in this process; who comes then is asked
    to come again.
    """

    def __init__(
        self, app: ASGIApp, *, upload_bytes: int, uploads: int, pace: Pace | None = None
    ) -> None:
        self.app = app
        self._upload_bytes = upload_bytes
        self._places = uploads
        self._pace = pace or Pace()

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] != "http" or scope["method"] not in _WITH_BODY:
            return self.app(scope, receive, send)
        patient = _PatientReceive(scope, receive, self._pace)
        if scope["path"].startswith(_UPLOAD):
            return self._upload(scope, patient, send)
        return self.app(scope, patient, send)

    async def _upload(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _declared_length(scope) > self._upload_bytes:
            error = TooLarge(f"The upload has more than the {self._upload_bytes} bytes allowed")
            await refuse(send, error)
            return
        if self._places == 0:
            await refuse(
                send,
                RateLimited("Too many uploads in progress; try again in a moment"),
                [(b"retry-after", str(_COME_AGAIN).encode())],
            )
            return
        self._places -= 1
        try:
            await self.app(scope, receive, send)
        finally:
            self._places += 1


class _PatientReceive:
    """Counts a body's bytes into the state of its request, and raises TooSlow.

    Only time spent waiting counts: while the hub works, the client may not be able to send.
    """

    def __init__(self, scope: Scope, receive: Receive, pace: Pace) -> None:
        self._state = scope["state"]
        self._receive = receive
        self._pace = pace
        self._waited = 0.0
        self._brought = 0
        self._ended = False

    async def __call__(self) -> Message:
        if self._ended:
            return await self._receive()
        if self._brought >= self._pace.bytes:
            self._waited, self._brought = 0.0, 0
        message = await self._next()
        size = len(message.get("body", b""))
        self._brought += size
        self._state["received"] = self._state.get("received", 0) + size
        self._ended = not message.get("more_body", False)
        return message

    async def _next(self) -> Message:
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._pace.seconds - self._waited):
                return await self._receive()
        except TimeoutError as error:
            raise TooSlow(
                f"Request body too slow: {self._brought} bytes in {self._pace.seconds:g} s",
                hint="run the same command again over a better connection",
            ) from error
        finally:
            self._waited += time.monotonic() - began


def _declared_length(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() else 0
    return 0
