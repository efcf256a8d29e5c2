"""The application as it is served: inside what watches, counts and limits its requests.

All of it is plain ASGI, and a layer that has nothing to do with a request hands on what the next
one returns instead of awaiting it: a page that is ready is answered within some 50 microseconds.
"""

import asyncio
import os
from collections.abc import Awaitable
from pathlib import Path

from sqlalchemy import event
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from prime_cli.hub.app import create_app
from prime_cli.hub.context import Hub
from prime_cli.hub.serving.access_log import Log
from prime_cli.hub.serving.bodies import LimitBodies
from prime_cli.hub.serving.health import AnswerHealth
from prime_cli.hub.serving.metrics import FOLDER, Metrics, forget_dead_processes
from prime_cli.hub.serving.observing import Observe, templates_of
from prime_cli.hub.serving.options import ServeOptions
from prime_cli.hub.serving.proxies import TrustProxies, read_networks
from prime_cli.hub.serving.rates import LimitRates, Rates
from prime_cli.hub.serving.watching import WatchPods

_FLUSH_SECONDS = 0.25


def create_served_app(options: ServeOptions) -> ASGIApp:
    """The hub that the operator has chosen. Raises what `create_app` raises."""
    app = create_app(options.settings())
    if folder := os.environ.get(FOLDER):
        forget_dead_processes(Path(folder))
    return wrap(app, options, Log(options.log_format))


def wrap(app: Starlette, options: ServeOptions, log: Log) -> ASGIApp:
    """`app` inside the layers, the outermost last."""
    hub: Hub = app.state.hub
    metrics = Metrics()
    event.listen(hub.database.engine, "handle_error", lambda _: metrics.database_errors.inc())
    limits = hub.settings.limits
    layers: ASGIApp = LimitBodies(
        app,
        upload_bytes=max(limits.wheel_bytes, limits.sources_bytes),
        uploads=options.uploads,
    )
    if options.rate_limit:
        layers = LimitRates(layers, Rates.of_key(options.rate_limit))
    layers = Observe(layers, templates=templates_of(app.routes), log=log, metrics=metrics)
    layers = AnswerHealth(layers, hub=hub, metrics=metrics)
    layers = TrustProxies(layers, read_networks(options.trusted_proxies))
    if hub.settings.providers:
        layers = WatchPods(layers, hub)
    return WriteLog(layers, log, hub)


class WriteLog:
    """Writes the log a few times a second while the application lives, and its rest at the end."""

    def __init__(self, app: ASGIApp, log: Log, hub: Hub) -> None:
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
            # A reader that is slow must not keep requests waiting.
            await asyncio.to_thread(self._log.flush)
