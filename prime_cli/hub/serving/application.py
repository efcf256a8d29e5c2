"""The application as served, inside what watches, counts and limits its requests."""

import asyncio
import logging
import os
import threading
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path

from sqlalchemy import event
from starlette.applications import Starlette
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prime_cli.core.errors import PrimeError
from prime_cli.hub.app import create_app
from prime_cli.hub.context import Hub
from prime_cli.hub.services.compute.gc import collect_all_garbage, was_collected
from prime_cli.hub.services.compute.providers import owns_pods
from prime_cli.hub.services.compute.reconcile import refresh_all
from prime_cli.hub.serving.access_log import AccessLog
from prime_cli.hub.serving.limits import (
    BodyLimitMiddleware,
    RateLimitMiddleware,
    Rates,
    ShareMiddleware,
)
from prime_cli.hub.serving.monitoring import (
    FOLDER,
    HealthMiddleware,
    Metrics,
    forget_dead_processes,
)
from prime_cli.hub.serving.observability import ObservabilityMiddleware, templates_of
from prime_cli.hub.serving.options import ServeOptions
from prime_cli.hub.serving.proxies import ProxyMiddleware, read_networks
from prime_cli.runs.comparison.compare import load_statistics
from prime_cli.wire.pods import Leak

# --- Pods in the background ---

SECONDS = 30.0
_END_WITHIN = 10.0

_log = logging.getLogger(__name__)


class PodWatcher:
    """Sweeps when the application starts, and refreshes all pods every `seconds` while it lives.

    If another process has just swept, this is put off by a round, unless one has again. Failures
    are logged, and retried at the next round. At its start it says if another server has the pods.
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
        # A hanging provider must not keep the server from exiting.
        thread = threading.Thread(target=self.watch, args=(stop.wait,), daemon=True)
        thread.start()
        try:
            await self.app(scope, receive, send)
        finally:
            stop.set()
            await asyncio.to_thread(thread.join, _END_WITHIN)

    def watch(self, wait: Callable[[float], bool]) -> None:
        """Run until `wait`, called with seconds, says that it is over."""
        begun = self._hub.settings.clock()
        self._try(self._say_who_owns)
        self._try(lambda: self._sweep(begun))
        while not wait(self._seconds):
            self._try(lambda: refresh_all(self._hub, self._seconds))
            # A hub that stopped soon after its start had swept, but left what it was creating
            # since.
            self._try(lambda: self._sweep(begun))

    def _say_who_owns(self) -> None:
        with self._hub.database.read() as connection:
            for provider in self._hub.settings.providers:
                if not owns_pods(connection, provider):
                    _log.warning(
                        "Another server of this hub has the pods of `%s`: this one creates none",
                        provider.name,
                    )

    def _sweep(self, begun: datetime) -> None:
        if was_collected(self._hub, begun):
            return
        swept = collect_all_garbage(self._hub, self._seconds)
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


# --- The application ---
# All of it is plain ASGI, and a layer that has nothing to do with a request hands on what the next
# one returns instead of awaiting it: a page that is ready is answered within some 50 microseconds.

_FLUSH_SECONDS = 0.25


def create_served_app(options: ServeOptions) -> ASGIApp:
    """The hub as configured by the operator. Raises what `create_app` raises."""
    app = create_app(options.settings())
    if folder := os.environ.get(FOLDER):
        forget_dead_processes(Path(folder))
    threading.Thread(target=load_statistics, daemon=True).start()
    return wrap(app, options, AccessLog(options.log_format))


def wrap(app: Starlette, options: ServeOptions, log: AccessLog) -> ASGIApp:
    """`app` inside the layers, the outermost last."""
    hub: Hub = app.state.hub
    metrics = Metrics()
    app.state.metrics = metrics.render
    event.listen(hub.database.engine, "handle_error", lambda _: metrics.database_errors.inc())
    if app.state.models is not None:
        app.state.models.on_spend = metrics.count_spend
    limits = hub.settings.limits
    layers: ASGIApp = BodyLimitMiddleware(
        app,
        upload_bytes=max(limits.wheel_bytes, limits.sources_bytes),
        uploads=options.uploads,
        pace=options.pace,
    )
    if most := options.connections_of_a_process:
        layers = ShareMiddleware(layers, most)
    if options.rate_limit:
        layers = RateLimitMiddleware(layers, Rates.of_key(options.rate_limit))
    layers = ObservabilityMiddleware(
        layers, templates=templates_of(app.routes), log=log, metrics=metrics
    )
    layers = HealthMiddleware(layers, hub=hub, metrics=metrics)
    # Users of pods reach the hub from this machine.
    layers = ProxyMiddleware(
        layers, read_networks(options.trusted_proxies), is_shared=options.pods.local_pods
    )
    if options.tls_cert is not None:
        layers = StrictTransport(layers)
    if hub.settings.providers:
        layers = PodWatcher(layers, hub)
    return WriteLog(layers, log, hub)


class StrictTransport:
    """Tells browsers to use TLS only (RFC 6797), on a hub that ends TLS itself."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        def add(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], _STRICT_TRANSPORT]}
            return send(message)

        return self.app(scope, receive, add if scope["type"] == "http" else send)


_STRICT_TRANSPORT = (b"strict-transport-security", b"max-age=31536000")


class WriteLog:
    """Writes the log a few times a second while the application lives, and its rest at the end."""

    def __init__(self, app: ASGIApp, log: AccessLog, hub: Hub) -> None:
        self.app = app
        self._log = log
        self._hub = hub

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] != "lifespan":
            return self.app(scope, receive, send)
        return self._live(scope, receive, send)

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        writing = asyncio.create_task(self._write())
        try:
            await self.app(scope, receive, send)
        finally:
            writing.cancel()
            self._log.flush()
            self._hub.database.engine.dispose()

    async def _write(self) -> None:
        while True:
            await asyncio.sleep(_FLUSH_SECONDS)
            # A slow reader must not delay requests.
            await asyncio.to_thread(self._log.flush)
