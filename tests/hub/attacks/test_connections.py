"""One client that holds very many connections, and asks nothing."""

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.helpers.serving import serve

pytestmark = pytest.mark.slow

HELD = 2000
HALF = b"GET / HTTP/1.1\r\nHost: hub\r\nX-Slow: "


@pytest.fixture
def many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2 * HELD:
        pytest.skip(f"this machine allows {hard} files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * HELD), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def held_connections(url: str) -> Iterator[list[socket.socket]]:
    """Every other one has sent half a request, the others nothing."""
    host, _, port = url.removeprefix("http://").partition(":")
    with ExitStack() as stack:
        held = []
        for number in range(HELD):
            connection = socket.create_connection((host, int(port)), timeout=60)
            held.append(stack.enter_context(connection))
            if number % 2:
                connection.sendall(HALF)
        yield held


@pytest.mark.usefixtures("many_files")
def test_held_connections_stop_nobody_and_are_closed(tmp_path: Path) -> None:
    with serve(tmp_path / "hub") as hub, held_connections(hub.url) as held:
        with hub.client() as client:
            for path in ("/healthz", "/readyz", "/", "/api/v1/environmentshub/"):
                assert client.get(path).status_code == 200
        for connection in (*held[:2], *held[-2:]):
            # The hub hangs up, without a word or with one about the time.
            while connection.recv(4096):
                pass
