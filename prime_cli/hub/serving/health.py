"""How the hub is: `/healthz`, `/readyz` and `/metrics`, which are neither logged nor counted."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from prime_cli.core.errors import NotLoggedIn, PrimeError, StorageFailed
from prime_cli.hub.context import Hub
from prime_cli.hub.dispatch import run
from prime_cli.hub.middleware import read_keys
from prime_cli.hub.services.keys import find_caller
from prime_cli.hub.services.serial import read_serial
from prime_cli.hub.serving.metrics import CONTENT_TYPE, Metrics
from prime_cli.hub.serving.rate_limits import refuse, send_json
from prime_cli.wire.codec import encode

_NO_BLOB = "0" * 64
_ANSWER_WITHIN = 5.0
_GOOD_FOR = 1.0


class HealthMiddleware:
    """Answers three addresses itself and passes on all others.

    `/healthz` says that the process runs. `/readyz` asks database and storage, at most once a
    second, and is 503 with the reasons when one does not answer. `/metrics` is for this machine,
    and for keys of an admin: how busy a hub is, is not everybody's business.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        hub: Hub,
        metrics: Metrics,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.app = app
        self._hub = hub
        self._metrics = metrics
        self._clock = clock
        self._checked_at = float("-inf")
        self._problems: dict[str, str] = {}
        self._checking = asyncio.Lock()

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        match scope["path"] if scope["type"] == "http" else "":
            case "/healthz":
                return send_json(send, 200, b'{"status":"ok"}')
            case "/readyz":
                return self._answer_ready(send)
            case "/metrics":
                return self._answer_metrics(scope, send)
        return self.app(scope, receive, send)

    async def _answer_ready(self, send: Send) -> None:
        async with self._checking:
            if self._clock() - self._checked_at > _GOOD_FOR:
                self._problems = await self._find_problems()
                self._checked_at = self._clock()
        if self._problems:
            body = encode({"status": "not ready", "problems": self._problems})
            await send_json(send, 503, body)
        else:
            await send_json(send, 200, b'{"status":"ready"}')

    async def _find_problems(self) -> dict[str, str]:
        checks = {"database": _ask_database, "storage": _ask_storage}
        found = await asyncio.gather(*(self._problem(check) for check in checks.values()))
        return {name: text for name, text in zip(checks, found, strict=True) if text}

    async def _problem(self, check: Callable[[Hub], None]) -> str | None:
        try:
            async with asyncio.timeout(_ANSWER_WITHIN):
                await run(self._hub, check, self._hub)
        except PrimeError as error:
            return error.message
        except TimeoutError:
            return f"no answer within {_ANSWER_WITHIN:g} seconds"
        return None

    async def _answer_metrics(self, scope: Scope, send: Send) -> None:
        if not (scope["state"]["near"] or await self._is_admin(scope)):
            await refuse(
                send, NotLoggedIn("Metrics are for admins", hint="send the key of an admin")
            )
            return
        body = await run(self._hub, self._metrics.render)
        headers = [
            (b"content-type", CONTENT_TYPE),
            (b"content-length", str(len(body)).encode()),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _is_admin(self, scope: Scope) -> bool:
        for key in read_keys(Headers(scope=scope).get("authorization", "")):
            caller = await run(self._hub, find_caller, self._hub, key)
            if caller is not None and caller.admin:
                return True
        return False


def _ask_database(hub: Hub) -> None:
    with hub.database.read() as connection:
        read_serial(connection)


def _ask_storage(hub: Hub) -> None:
    """Ask for a blob that cannot be, and see that uploads have a place to go."""
    hub.storage.size(_NO_BLOB)
    if not os.access(hub.settings.data, os.W_OK):
        raise StorageFailed(f"{hub.settings.data} cannot be written")
