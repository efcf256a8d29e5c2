"""The thread of a served hub that looks after pods, from the start of the server to its end."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from datetime import datetime

from starlette.types import ASGIApp, Receive, Scope, Send

from prime_cli.core.errors import PrimeError
from prime_cli.hub.context import Hub
from prime_cli.hub.services.compute.watching import is_swept, look_after_all, sweep_all
from prime_cli.wire.pods import Leak

SECONDS = 30.0
_END_WITHIN = 10.0

_log = logging.getLogger(__name__)


class WatchPods:
    """Sweeps when the application starts, and looks after all pods every `seconds` while it lives.

    Where a process has swept just before that, it is done a round later, unless one has again. What
    fails is logged, and tried again at the next round.
    """

    def __init__(self, app: ASGIApp, hub: Hub, *, seconds: float = SECONDS) -> None:
        self.app = app
        self._hub = hub
        self._seconds = seconds

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] != "lifespan":
            return self.app(scope, receive, send)
        return self._live(scope, receive, send)

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        stop = threading.Event()
        # A provider that hangs must not keep the server from ending.
        thread = threading.Thread(target=self.watch, args=(stop.wait,), daemon=True)
        thread.start()
        try:
            await self.app(scope, receive, send)
        finally:
            stop.set()
            await asyncio.to_thread(thread.join, _END_WITHIN)

    def watch(self, wait: Callable[[float], bool]) -> None:
        """Go on until `wait`, which is given seconds, says that it is over."""
        begun = self._hub.settings.clock()
        self._try(lambda: self._sweep(begun))
        while not wait(self._seconds):
            self._try(lambda: look_after_all(self._hub, self._seconds))
            # A hub that ended soon after its start had swept, and left what it was making since.
            self._try(lambda: self._sweep(begun))

    def _sweep(self, begun: datetime) -> None:
        swept = None if is_swept(self._hub, begun) else sweep_all(self._hub, self._seconds)
        for leak in swept.leaks if swept else []:
            outcome = "ended" if leak.ended else leak.failure
            _log.warning("%s: %s: %s", leak.kind, _which(leak), outcome)

    def _try(self, work: Callable[[], object]) -> None:
        try:
            work()
        except PrimeError as error:
            _log.warning("Pods were not looked after: %s", error.message)
        except Exception:  # noqa: BLE001 - a bug must not end the watch over what costs money
            _log.exception("Pods were not looked after")


def _which(leak: Leak) -> str:
    """By its id, its name and whose it is, as far as it has them."""
    whose = leak.owner or leak.provider
    # A provider that does not answer is its own.
    return " ".join(filter(None, (leak.id, leak.name, f"of `{whose}`" * (whose != leak.id))))
