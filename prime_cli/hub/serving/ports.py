"""Ports that one hub has for itself; on one it answers `/healthz`, whatever its workers do."""

import errno
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from prime_cli.core.errors import Conflict, NotAllowed, PrimeError, UsageError


@contextmanager
def reserve_port(host: str, port: int) -> Iterator[int]:
    """Reserve `port`, or a free one for 0, for the workers alone.

    The workers share the port (SO_REUSEPORT), and so could any other process of this user. It is
    therefore bound exclusively first and shared afterwards, so a second hub that starts at the
    same time is refused. Raises Conflict when it is taken, NotAllowed, UsageError for a bad host.
    """
    with bind_alone(host, port) as reserved:
        number = int(reserved.getsockname()[1])
        if sys.platform == "win32":
            reserved.close()  # which has no shared ports: its one worker binds it
        else:
            reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
            reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        yield number


def bind_alone(host: str, port: int) -> socket.socket:
    """A socket that has the address for itself, and does not listen; raises as `reserve_port`."""
    try:
        family, *_, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, socket.SOCK_STREAM)
        try:
            if sys.platform != "win32":  # where it would take the port from another process
                # Connections that a stopped hub has left behind do not matter.
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
        except OSError:
            bound.close()
            raise
        else:
            return bound
    except OSError as error:
        raise _refusal(host, port, error) from error


def _refusal(host: str, port: int, error: OSError) -> PrimeError:
    if error.errno == errno.EADDRINUSE:
        return Conflict(
            f"Port {port} of {host} is used by another process", hint="choose one with `--port`"
        )
    if error.errno == errno.EACCES:
        return NotAllowed(f"Port {port} may not be used by this user", hint="choose one above 1023")
    return UsageError(
        f"`{host}` is not an address of this machine: {error.strerror}",
        hint="use `--host 127.0.0.1`, or `--host 0.0.0.0` for all addresses",
    )


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
