"""`/healthz`, `/readyz` and `/metrics`, which are neither logged nor counted."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from prime_cli.core.errors import NotLoggedIn, PrimeError, StorageFailed
from prime_cli.hub.context import Hub
from prime_cli.hub.dispatch import run
from prime_cli.hub.middleware import read_keys
from prime_cli.hub.services.audit import read_serial
from prime_cli.hub.services.keys import find_caller
from prime_cli.hub.serving.limits import refuse, send_json
from prime_cli.models.prices import Spend
from prime_cli.wire.codec import encode

# --- Metrics ---
# prometheus_client decides when it is imported whether its numbers are shared: only where the
# variable PROMETHEUS_MULTIPROC_DIR names the folder, as `serve` sets it for its workers.

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"
FOLDER = "PROMETHEUS_MULTIPROC_DIR"

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Metrics:
    """The numbers of this process. Labels are route templates, never what a request names."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "prime_hub_requests",
            "Requests answered",
            ["route", "method", "status"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "prime_hub_request_seconds",
            "Time from a request's head to the end of its answer",
            ["route"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._sent = Counter(
            "prime_hub_sent_bytes", "Bytes of answers' bodies", registry=self._registry
        )
        self._received = Counter(
            "prime_hub_received_bytes", "Bytes of requests' bodies", registry=self._registry
        )
        self.uploads = Gauge(
            "prime_hub_uploads_in_flight",
            "Uploads under way",
            registry=self._registry,
            multiprocess_mode="livesum",
        )
        self.publishes = Counter(
            "prime_hub_publishes", "Versions finalized", registry=self._registry
        )
        self.model_calls = Counter(
            "prime_hub_model_calls", "Calls to models", ["model"], registry=self._registry
        )
        self.model_tokens = Counter(
            "prime_hub_model_tokens",
            "Tokens of calls to models",
            ["model", "direction"],
            registry=self._registry,
        )
        self.database_errors = Counter(
            "prime_hub_database_errors",
            "Statements that the database refused or did not answer",
            registry=self._registry,
        )
        self._children: dict[tuple[str, str, int], Counter] = {}
        self._timers: dict[str, Histogram] = {}

    def count(
        self, route: str, method: str, status: int, *, seconds: float, sent: int, received: int
    ) -> None:
        """Count one request that was answered."""
        key = (route, method if method in _METHODS else "OTHER", status)
        counter = self._children.get(key)
        if counter is None:
            counter = self._children[key] = self._requests.labels(key[0], key[1], str(status))
            self._timers.setdefault(route, self._seconds.labels(route))
        counter.inc()
        self._timers[route].observe(seconds)
        if sent:
            self._sent.inc(sent)
        if received:
            self._received.inc(received)

    def count_spend(self, model: str, spend: Spend) -> None:
        """Count calls to a model of the hub."""
        self.model_calls.labels(model).inc(spend.usage.calls)
        self.model_tokens.labels(model, "input").inc(spend.usage.input)
        self.model_tokens.labels(model, "output").inc(spend.usage.output)

    def render(self) -> bytes:
        """All numbers, of all processes, in Prometheus's text format."""
        if FOLDER not in os.environ:
            return generate_latest(self._registry)
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)


def forget_dead_processes(folder: Path) -> None:
    """Drop what processes that are gone said was under way; what they counted stays."""
    import psutil

    for path in folder.glob("gauge_live*_*.db"):
        pid = int(path.stem.rpartition("_")[2])
        if not psutil.pid_exists(pid):
            mark_process_dead(pid, str(folder))  # type: ignore[no-untyped-call]


# --- Health ---

_NO_BLOB = "0" * 64
_ANSWER_WITHIN = 5.0
_GOOD_FOR = 1.0


class HealthMiddleware:
    """Answers three addresses itself and passes on all others.

    `/healthz` says that the process runs. `/readyz` asks database and storage, at most once a
    second, and is 503 when one does not answer, with the reason for callers on this machine.
    `/metrics` is for this machine, and for keys of an admin: how busy a hub is, is not everybody's
    business.
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
                return self._answer_ready(scope, send)
            case "/metrics":
                return self._answer_metrics(scope, send)
        return self.app(scope, receive, send)

    async def _answer_ready(self, scope: Scope, send: Send) -> None:
        async with self._checking:
            if self._clock() - self._checked_at > _GOOD_FOR:
                self._problems = await self._find_problems()
                self._checked_at = self._clock()
        if self._problems:
            # The reasons name addresses and folders.
            is_near = scope["state"]["near"]
            shown = self._problems if is_near else dict.fromkeys(self._problems, "not available")
            body = encode({"status": "not ready", "problems": shown})
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
