"""A served hub passes requests on over connections that it keeps."""

import asyncio
import socket
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web

from prime_cli.core.errors import Unreachable
from prime_cli.hub.sandboxes.supervisor.client import Supervisor
from prime_cli.hub.sandboxes.supervisor.relay import SupervisorRelay

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs Unix sockets")

_MANY = 120
"""More than aiohttp has connections of a session at once by default."""


@dataclass
class Scripted:
    """A supervisor that answers with what it is sent, once `wanted` requests have come."""

    wanted: int = 1
    came: int = 0
    peers: set[object] = field(default_factory=set)
    enough: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, request: web.Request) -> web.Response:
        self.came += 1
        self.peers.add(request.transport)
        if self.came >= self.wanted:
            self.enough.set()
        await self.enough.wait()
        return web.Response(body=await request.read())

    @asynccontextmanager
    async def listening(self, data: Path) -> AsyncIterator[None]:
        app = web.Application()
        app.router.add_post("/{path:.*}", self.answer)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        socket = Supervisor(data).paths.socket
        socket.parent.mkdir(parents=True, exist_ok=True)
        socket.unlink(missing_ok=True)
        await web.UnixSite(runner, socket).start()
        try:
            yield
        finally:
            await runner.cleanup()


@contextmanager
def _ending_early(data: Path) -> Iterator[None]:
    """A supervisor that dies after the first bytes of its first answer."""
    path = Supervisor(data).paths.socket
    path.parent.mkdir(parents=True, exist_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def answer() -> None:
        connection, _ = listener.accept()
        with connection:
            received = b""
            while not received.endswith(b"0\r\n\r\n"):
                received += connection.recv(1024)
            connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            connection.sendall(b"5\r\nhello\r\n")

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield
    finally:
        thread.join()
        listener.close()


async def _body() -> AsyncIterator[bytes]:
    yield b"hello"


async def _ask(relay: SupervisorRelay) -> bytes:
    response = await relay.request("POST", "/inside/a/exec", headers={}, body=_body())
    try:
        return b"".join([chunk async for chunk in response.chunks()])
    finally:
        await response.close()


@asynccontextmanager
async def _relay(data: Path, *, blocking: bool = False) -> AsyncIterator[SupervisorRelay]:
    relay = SupervisorRelay(Supervisor(data), blocking=blocking)
    try:
        yield relay
    finally:
        await relay.close()


def test_one_connection_serves_requests_in_turn(tmp_path: Path) -> None:
    async def scenario() -> None:
        scripted = Scripted()
        async with scripted.listening(tmp_path), _relay(tmp_path) as relay:
            for _ in range(3):
                assert await _ask(relay) == b"hello"
        assert len(scripted.peers) == 1

    asyncio.run(scenario())


def test_any_number_of_requests_go_on_at_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Scripted(_MANY).listening(tmp_path), _relay(tmp_path) as relay:
            said = await asyncio.gather(*(_ask(relay) for _ in range(_MANY)))
        assert said == [b"hello"] * _MANY

    asyncio.run(asyncio.wait_for(scenario(), 30))


def test_a_supervisor_that_came_back_is_asked_over_a_new_connection(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with _relay(tmp_path) as relay:
            async with Scripted().listening(tmp_path):
                assert await _ask(relay) == b"hello"
            with pytest.raises(Unreachable):
                await _ask(relay)
            async with Scripted().listening(tmp_path):
                assert await _ask(relay) == b"hello"

    asyncio.run(asyncio.wait_for(scenario(), 30))


@pytest.mark.parametrize("blocking", [True, False], ids=["in a command", "served"])
def test_a_supervisor_that_ends_within_an_answer_is_named(tmp_path: Path, blocking: bool) -> None:
    async def scenario() -> None:
        async with _relay(tmp_path, blocking=blocking) as relay:
            with pytest.raises(Unreachable, match="supervisor of this hub's sandboxes has ended"):
                await _ask(relay)

    with _ending_early(tmp_path):
        asyncio.run(asyncio.wait_for(scenario(), 30))
