"""The bounds on connections, on real sockets of this process."""

import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest

from prime_cli.hub.serving.connections import SlowReaders, end_excess, look
from prime_cli.hub.serving.options import MinimumRate
from prime_cli.hub.serving.proxies import read_networks
from tests.hub.serving.clocks import Clock

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")


class Listener:
    """A server that has accepted connections, of which it keeps its side."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._socket = stack.enter_context(closing(socket.create_server(("127.0.0.1", 0))))
        self.port: int = self._socket.getsockname()[1]
        self.accepted: list[socket.socket] = []

    def connect(self, source: str, count: int) -> list[socket.socket]:
        clients = []
        for _ in range(count):
            client = socket.create_connection(("127.0.0.1", self.port), 5, (source, 0))
            clients.append(self._stack.enter_context(closing(client)))
            self.accepted.append(self._stack.enter_context(closing(self._socket.accept()[0])))
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


# --- Slow readers ---

PACE = MinimumRate(bytes=64 * 1024, seconds=30)
MUCH = b"x" * 16 * 1024 * 1024


class Reader:
    """A client that has asked for `MUCH`, most of which waits for it on the hub's side."""

    def __init__(self, listener: Listener, source: str) -> None:
        (self.client,) = listener.connect(source, 1)
        self._server = listener.accepted[-1]
        self._server.setblocking(False)
        self.fill()
        self.read(1)  # the kernels fill their own buffers first

    def fill(self) -> None:
        """What the server does as long as it has more to send."""
        with suppress(BlockingIOError):
            while True:
                self._server.send(MUCH)

    def read(self, size: int) -> None:
        """Take that many bytes; the kernels of both sides then exchange more."""
        while size > 0:
            size -= len(self.client.recv(min(size, 65536)))
        time.sleep(0.05)
        self.fill()


def test_a_reader_that_takes_too_little_is_ended_and_one_that_keeps_pace_is_not(
    listener: Listener,
) -> None:
    slow, good = Reader(listener, "127.0.0.2"), Reader(listener, "127.0.0.3")
    clock = Clock()
    readers = SlowReaders(PACE, clock=clock)
    for seconds in (10, 10, 9, 2):
        assert readers.end(look(listener.port)) == {}
        good.read(1024 * 1024)
        slow.read(1)
        clock.pass_by(seconds)
    assert readers.end(look(listener.port)) == {"127.0.0.2": 1}
    assert not is_open_after_all(slow.client)
    assert is_open(good.client)


def test_a_client_that_is_sent_nothing_is_no_slow_reader(listener: Listener) -> None:
    (idle,) = listener.connect("127.0.0.2", 1)
    clock = Clock()
    readers = SlowReaders(PACE, clock=clock)
    for _ in range(3):
        assert readers.end(look(listener.port)) == {}
        clock.pass_by(60)
    assert is_open(idle)


def test_a_slow_answer_through_a_trusted_proxy_is_the_proxys_matter(listener: Listener) -> None:
    slow = Reader(listener, "127.0.0.2")
    clock = Clock()
    readers = SlowReaders(PACE, clock=clock)
    for _ in range(3):
        assert readers.end(look(listener.port, read_networks(["127.0.0.2"]))) == {}
        clock.pass_by(60)
    slow.read(1)


def is_open_after_all(client: socket.socket) -> bool:
    """Whether more than what had come already comes."""
    client.setblocking(False)
    try:
        while client.recv(1024 * 1024):
            pass
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
