"""Connections to a supervisor for callers that block, kept for the next request."""

import http.client
import socket
import sys
import time
import weakref
from collections import deque
from pathlib import Path

from prime_cli.core.errors import Unreachable

_KEPT_SECONDS = 30.0
"""aiohttp's server ends a connection after 75 seconds without a request."""
_MOST_KEPT = 16


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path, seconds: float) -> None:
        super().__init__("supervisor", timeout=seconds)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket."""
        if sys.platform == "win32":
            raise OSError("There are no Unix sockets on Windows")
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))

    def is_open(self) -> bool:
        """Whether it is connected and the other side has said nothing since, as that it ends."""
        if self.sock is None:
            return False
        self.sock.settimeout(0)
        try:
            self.sock.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        finally:
            self.sock.settimeout(self.timeout)
        return False


def no_answer(error: Exception) -> Unreachable:
    """What is raised when a supervisor does not answer; it may name the socket."""
    failure = Unreachable(f"The supervisor of this hub's sandboxes does not answer: {error}")
    failure.names_places = True
    return failure


def ended_early() -> Unreachable:
    """What is raised when a supervisor ends in the middle of an answer."""
    return Unreachable(
        "The supervisor of this hub's sandboxes has ended, and its sandboxes with it",
        hint="create another with `prime sandbox create`",
    )


class KeptConnections:
    """Connections over which a whole answer has come."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[float, UnixConnection]] = deque()
        weakref.finalize(self, _close_all, self._waiting)

    def take(self) -> UnixConnection | None:
        """The one that was used last, if it is still open."""
        while self._waiting:
            try:
                since, connection = self._waiting.pop()
            except IndexError:
                # Another thread took it.
                return None
            if time.monotonic() - since < _KEPT_SECONDS and connection.is_open():
                return connection
            connection.close()
        return None

    def put(self, connection: UnixConnection) -> None:
        """Keep one, or close it if there are many."""
        if len(self._waiting) < _MOST_KEPT:
            self._waiting.append((time.monotonic(), connection))
        else:
            connection.close()


def _close_all(waiting: deque[tuple[float, UnixConnection]]) -> None:
    for _, connection in waiting:
        connection.close()
