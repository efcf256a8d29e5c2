"""What Prometheus is told. Several processes write into one folder, and any of them can answer.

prometheus_client decides when it is imported whether its numbers are shared: only where the
variable PROMETHEUS_MULTIPROC_DIR names the folder, as `serve` sets it for its workers.
"""

import os
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

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

    def render(self) -> bytes:
        """All numbers, of all processes, in Prometheus's text format."""
        if FOLDER not in os.environ:
            return generate_latest(self._registry)
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)


def forget_dead_processes(folder: Path) -> None:
    """Drop what processes that are gone said was under way; what they counted stays."""
    for path in folder.glob("gauge_live*_*.db"):
        pid = int(path.stem.rpartition("_")[2])
        if not _is_alive(pid):
            mark_process_dead(pid, str(folder))  # type: ignore[no-untyped-call]


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
