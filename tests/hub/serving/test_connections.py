"""The bound on one address's connections, on real sockets of this process."""

import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from prime_cli.hub.serving.connections import end_excess
from prime_cli.hub.serving.proxies import read_networks

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")


class Listener:
    """A server that has accepted connections, of which it keeps its side."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._socket = stack.enter_context(closing(socket.create_server(("127.0.0.1", 0))))
        self.port: int = self._socket.getsockname()[1]
        self._accepted: list[socket.socket] = []

    def connect(self, source: str, count: int) -> list[socket.socket]:
        clients = []
        for _ in range(count):
            client = socket.create_connection(("127.0.0.1", self.port), 5, (source, 0))
            clients.append(self._stack.enter_context(closing(client)))
            self._accepted.append(self._stack.enter_context(closing(self._socket.accept()[0])))
        return clients


@pytest.fixture
def listener() -> Iterator[Listener]:
    with ExitStack() as stack:
        yield Listener(stack)


def is_open(client: socket.socket) -> bool:
    client.setblocking(False)
    try:
        return client.recv(1) != b""
    except BlockingIOError:
        return True


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_of_one_address_those_longest_silent_are_ended(listener: Listener) -> None:
    held = listener.connect("127.0.0.2", 60)
    time.sleep(0.05)  # the kernel measures silence in ticks of its clock
    for client in held[:20]:
        client.send(b"GET")
    others = listener.connect("127.0.0.3", 5)
    before = descriptors()
    assert end_excess(listener.port, 20) == {"127.0.0.2": 40}
    assert [is_open(client) for client in held] == [True] * 20 + [False] * 40
    assert all(map(is_open, others))
    assert descriptors() == before
    assert end_excess(listener.port, 20) == {}


def test_trusted_proxies_and_other_ports_are_not_counted(listener: Listener) -> None:
    held = listener.connect("127.0.0.2", 30)
    assert end_excess(listener.port + 1, 10) == {}
    assert end_excess(listener.port, 10, read_networks(["127.0.0.2"])) == {}
    assert all(map(is_open, held))
