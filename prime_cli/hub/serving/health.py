"""Answer `/healthz` from the process that starts the workers, whatever these have to do."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from prime_cli.hub.serving.ports import bind_alone


class _Health(BaseHTTPRequestHandler):
    timeout = 5.0
    server: "_HealthServer"

    def do_GET(self) -> None:
        is_health = self.path == "/healthz"
        is_alive = is_health and self.server.is_alive()
        body = b'{"status":"ok"}' if is_alive else b'{"status":"no worker"}' if is_health else b""
        self.send_response(200 if is_alive else 503 if is_health else 404)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Probes are not logged."""


class _HealthServer(ThreadingHTTPServer):
    """Answers on an address that it alone has; raises as `reserve_port`."""

    def __init__(self, host: str, port: int, is_alive: Callable[[], bool]) -> None:
        super().__init__((host, port), _Health, bind_and_activate=False)
        self.is_alive = is_alive
        self.socket.close()
        self.socket = bind_alone(host, port)
        self.server_activate()


@contextmanager
def answer_health(host: str, port: int | None, is_alive: Callable[[], bool]) -> Iterator[None]:
    """Answer `/healthz` on `port`, if there is one; raises as `reserve_port`."""
    if port is None:
        yield
        return
    listener = _HealthServer(host, port, is_alive)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    try:
        yield
    finally:
        listener.shutdown()
        listener.server_close()
