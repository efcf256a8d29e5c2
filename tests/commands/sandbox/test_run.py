"""What `prime sandbox run` sends to a command's stdin."""

import os
import threading
from collections.abc import Iterator

import httpx
import pytest

from prime_cli.api.client import HubClient
from prime_cli.commands.sandbox.run import _Feeder

PLACE = {
    "gateway_url": "http://hub.example/gw",
    "user_ns": "u",
    "job_id": "j",
    "expires_at": "2126-11-23T16:00:00Z",
}


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The writing end of this process' stdin."""
    reading, writing = os.pipe()
    with os.fdopen(reading, encoding="utf-8") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        yield writing


def test_nothing_is_sent_once_the_command_has_ended(stdin: int) -> None:
    sent = threading.Semaphore(0)
    bodies: list[bytes] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/auth"):
            return httpx.Response(200, json={"token": "t", **PLACE})
        bodies.append(request.read())
        sent.release()
        return httpx.Response(200)

    way = httpx.MockTransport(answer)
    hub = HubClient("http://hub.example", key="pit_x", transport=way, outside=way)
    feeder = _Feeder(hub.sandboxes.gateway("box"), "s-1")
    feeder.start()
    (thread,) = [each for each in threading.enumerate() if each.name == "prime-stdin"]
    os.write(stdin, b"first")
    assert sent.acquire(timeout=10)
    feeder.stop()
    os.write(stdin, b"second")
    os.close(stdin)
    thread.join(10)
    assert len(bodies) == 1
    assert b"first" in bodies[0]
