"""Clients that hold very many connections and ask nothing, or ask slowly."""

import resource
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.helpers.serving import ServedHub, serve
from tests.helpers.sshd import free_port

pytestmark = pytest.mark.slow

HALF = b"GET / HTTP/1.1\r\nHost: hub\r\nX-Slow: "
SLOW = (
    b"POST /api/v1/auth_challenge/generate HTTP/1.1\r\nHost: hub\r\n"
    b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
)
MANY = 12_000
NEIGHBOURS = [f"127.0.0.{number}" for number in range(2, 18)]
PAGES = ("/healthz", "/readyz", "/", "/api/v1/environmentshub/")


@pytest.fixture(autouse=True)
def many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MANY + 1000
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"this machine allows {hard} files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def held_connections(
    hub: ServedHub, count: int, say: Sequence[bytes], sources: Sequence[str] = ("127.0.0.1",)
) -> Iterator[list[socket.socket]]:
    """`count` connections from the addresses in turn, which have sent one of `say` in turn."""
    host, _, port = hub.url.removeprefix("http://").partition(":")
    with ExitStack() as stack:
        held = []
        for number in range(count):
            source = sources[number % len(sources)]
            connection = socket.create_connection((host, int(port)), 60, (source, 0))
            held.append(stack.enter_context(connection))
            if words := say[number // len(sources) % len(say)]:
                connection.sendall(words)
        yield held


def seconds_to_answer(hub: ServedHub, path: str) -> float:
    began = time.monotonic()
    with hub.client() as client:
        assert client.get(path).status_code == 200
    return time.monotonic() - began


def is_ended(connection: socket.socket) -> bool:
    """Whether the hub has hung up by now, without a word or with one about the time."""
    connection.setblocking(False)
    try:
        while connection.recv(4096):
            pass
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def test_held_connections_stop_nobody_and_are_closed(tmp_path: Path) -> None:
    with (
        serve(tmp_path / "hub", "--connections", "0") as hub,
        held_connections(hub, 2000, [b"", HALF]) as held,
    ):
        for path in PAGES:
            seconds_to_answer(hub, path)
        for connection in (*held[:2], *held[-2:]):
            connection.settimeout(60)
            while connection.recv(4096):
                pass


def test_an_address_holds_no_more_than_its_share_and_is_still_answered(tmp_path: Path) -> None:
    with (
        serve(tmp_path / "hub", "--connections", "100") as hub,
        held_connections(hub, 30, [HALF], NEIGHBOURS[:1]) as others,
        held_connections(hub, 500, [b"", HALF]) as held,
    ):
        deadline = time.monotonic() + 8
        while sum(map(is_ended, held)) < 400:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        assert not any(map(is_ended, others))
        for path in PAGES:
            seconds_to_answer(hub, path)
        assert "had more than 100 at once: " in hub.err.read_text(encoding="utf-8")


@pytest.mark.parametrize("say", [[b"", HALF], [SLOW]], ids=["held", "slow"])
def test_health_is_told_while_a_crowd_holds_all_it_can(tmp_path: Path, say: list[bytes]) -> None:
    port = free_port()
    with (
        serve(tmp_path / "hub", "--health-port", str(port)) as hub,
        held_connections(hub, MANY, say, NEIGHBOURS) as held,
    ):
        probe = httpx.get(f"http://127.0.0.1:{port}/healthz", trust_env=False, timeout=2)
        assert probe.json() == {"status": "ok"}
        waited = [seconds_to_answer(hub, path) for path in PAGES * 3]
        alive = len(held) - sum(map(is_ended, held))
    print(f"{alive} of {MANY} held; slowest answer {max(waited):.2f} s")
    # The first one waits for what came before it.
    assert max(waited[1:]) < 5
