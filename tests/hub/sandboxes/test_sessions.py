"""Command sessions, as newer releases of the client have them."""

import asyncio
import gc
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import aiohttp
import httpx
import psutil
import pytest

from prime_cli.hub.sandboxes.bubblewrap.provider import BubblewrapProvider
from prime_cli.hub.sandboxes.provider import End, ExecSpec, RunningCommand, SandboxSpec
from prime_cli.hub.sandboxes.supervisor.client import Supervisor
from prime_cli.hub.sandboxes.supervisor.manager import SandboxManager
from prime_cli.hub.sandboxes.supervisor.server import Server, listen
from prime_cli.hub.sandboxes.supervisor.sessions import CommandSessions
from prime_cli.wire import command_sessions as messages
from prime_cli.wire import connect
from prime_cli.wire.command_sessions import CommandSpec, Selector, SignalRequest, StartRequest
from tests.helpers.sandboxes import IMAGE, Inside, create, sandbox_hub
from tests.helpers.tools import needs_bubblewrap

pytestmark = needs_bubblewrap


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    """A sandbox that lives for all tests."""
    with sandbox_hub(tmp_path_factory.mktemp("hub")) as client:
        yield Inside(client, create(client)["id"])


def text(number: int, value: bytes) -> bytes:
    """A field of protobuf with at most 127 bytes."""
    return bytes([number << 3 | 2, len(value)]) + value


def start(line: str, session: str = "", *, stdin: bool = False) -> bytes:
    """`Start` of a line for bash."""
    words = text(1, b"/bin/bash") + text(2, b"-c") + text(2, line.encode())
    message = text(1, words) + (b"\x20\x01" if stdin else b"")
    return message + (text(5, session.encode()) if session else b"")


def selector(session: str) -> bytes:
    """The session in a request."""
    return text(1, text(3, session.encode()))


def call(inside: Inside, name: str, message: bytes) -> httpx.Response:
    """A unary call."""
    return inside.post(f"{messages.SERVICE}/{name}", content=message)


def stream(inside: Inside, name: str, message: bytes, seconds: float = 20) -> list[bytes]:
    """The messages of a stream, the last being that of its end."""
    headers = {**inside.headers, "connect-timeout-ms": str(int(seconds * 1000))}
    url = f"{inside.url}/{messages.SERVICE}/{name}"
    content = inside.client.post(url, headers=headers, content=connect.frame(message)).content
    found: list[bytes] = []
    start = 0
    while start < len(content):
        size = int.from_bytes(content[start + 1 : start + 5], "big")
        start += 5 + size
        found.append(content[start - size : start])
    return found


def test_a_supervisor_that_dies_is_named_at_the_end_of_the_stream(tmp_path: Path) -> None:
    with sandbox_hub(tmp_path / "hub") as client:
        inside = Inside(client, create(client)["id"])
        (supervisor,) = [
            each
            for each in psutil.process_iter(["cmdline"])
            if str(Supervisor(tmp_path / "hub").paths.folder) in (each.info["cmdline"] or ())
        ]
        url = f"{inside.url}/{messages.SERVICE}/Start"
        begun = connect.frame(start("echo begun; sleep 60"))
        with client.stream("POST", url, headers=inside.headers, content=begun) as answer:
            received = answer.iter_raw()
            assert next(received)
            supervisor.kill()
            rest = b"".join(received)
    assert b"The supervisor of this hub's sandboxes has ended" in rest


def test_a_session_has_events_and_an_end(inside: Inside) -> None:
    first, *data, ended, last = stream(inside, "Start", start("echo out; echo err >&2; exit 9"))
    assert first.startswith(b"\x0a")
    assert sorted(data) == sorted([messages.output(1, b"out\n"), messages.output(2, b"err\n")])
    assert (ended, last) == (messages.ended(9), b"{}")


def test_a_session_that_takes_too_long_says_so_and_is_killed(inside: Inside) -> None:
    *_, last = stream(inside, "Start", start("sleep 62"), seconds=0.3)
    assert b'"deadline_exceeded"' in last
    assert inside.run("pgrep -xf 'sleep 62'")["exit_code"] == 1


def test_a_session_that_never_pauses_is_ended_in_time_too(inside: Inside) -> None:
    *_, last = stream(inside, "Start", start("timeout 5 yes"), seconds=0.3)
    assert b'"deadline_exceeded"' in last


def test_a_session_is_taken_up_again_and_gets_its_input_once(inside: Inside) -> None:
    begun = start("read a; read b; echo $a-$b; exit 4", "s-1", stdin=True)
    *_, last = stream(inside, "Start", begun, seconds=0.3)
    assert b'"deadline_exceeded"' in last
    words = selector("s-1") + text(2, text(1, b"one\n")) + text(3, b"key")
    for _ in range(2):
        assert call(inside, "SendInput", words).status_code == 200
    more = selector("s-1") + text(2, text(1, b"two\n"))
    assert call(inside, "SendInput", more).status_code == 200
    _, said, ended, _ = stream(inside, "Connect", selector("s-1"))
    assert (said, ended) == (messages.output(1, b"one-two\n"), messages.ended(4))
    # Who attaches once more hears how it ended.
    assert messages.ended(4) in stream(inside, "Start", begun)


class SlowBox:
    """A sandbox in which commands start slowly and then say nothing."""

    facts: ClassVar[dict[str, str]] = {}
    is_gone = False

    def __init__(self) -> None:
        self.started = 0

    async def run(self, _order: ExecSpec) -> RunningCommand:
        await asyncio.sleep(0.01)
        self.started += 1
        return SilentCommand()

    async def gone(self) -> End:
        raise NotImplementedError

    async def end(self) -> None:
        """Nothing is there."""


class SilentCommand:
    """A command that ends when it is killed."""

    stdin = None

    def __init__(self) -> None:
        self.stdout = self.stderr = asyncio.StreamReader()
        self.stdout.feed_eof()
        self._ended = asyncio.Event()

    async def wait(self) -> int:
        await self._ended.wait()
        return 137

    async def signal(self, _number: int) -> None:
        self._ended.set()

    def close(self) -> None:
        """There are no pipes."""


def test_a_start_that_is_sent_again_at_once_runs_one_command() -> None:
    request = StartRequest(CommandSpec(("sleep", "9")), session="s-9")

    async def scenario() -> int:
        box, found = SlowBox(), CommandSessions()
        first, second = await asyncio.gather(found.start(box, request), found.start(box, request))
        assert first is second
        await found.close(first)
        return box.started

    assert asyncio.run(scenario()) == 1


def test_a_signal_for_a_session_that_is_still_being_started_ends_it() -> None:
    request = StartRequest(CommandSpec(("sleep", "9")), session="s-9")

    async def scenario() -> int:
        found = CommandSessions()
        starting = asyncio.create_task(found.start(SlowBox(), request))
        await asyncio.sleep(0)
        await found.send_signal(SignalRequest(Selector(session="s-9"), 9))
        return await (await starting).command.wait()

    assert asyncio.run(asyncio.wait_for(scenario(), 20)) == 137


def open_descriptors() -> int:
    """How many this process has, without those of objects that nothing refers to."""
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir()))


def test_sessions_of_a_sandbox_that_ended_by_itself_leave_nothing_open(tmp_path: Path) -> None:
    spec = SandboxSpec("prime-test-left", "left", IMAGE, time.time() + 60, network="none")
    path = f"http://supervisor/inside/{spec.tag}"

    async def scenario() -> None:
        manager = SandboxManager({"bubblewrap": BubblewrapProvider()}, tmp_path)
        server = Server(manager)
        runner = await listen(server, tmp_path / "socket")
        connector = aiohttp.UnixConnector(str(tmp_path / "socket"), force_close=True)
        async with aiohttp.ClientSession(connector=connector) as client:
            before = open_descriptors()
            box = await manager.create("bubblewrap", spec, 20)
            body = connect.frame(start("timeout 9 yes", "s-1"))
            headers = {"connect-timeout-ms": "300"}
            url = f"{path}/{messages.SERVICE}/Start"
            async with client.post(url, data=body, headers=headers) as answer:
                assert b"deadline_exceeded" in await answer.read()
            async with client.post(
                f"{path}/exec", json={"command": "sleep 1; kill -9 2"}
            ) as answer:
                await answer.read()
            await asyncio.wait_for(box.ended.wait(), 20)
            await server.forget_ended()
            await asyncio.sleep(0.1)  # until connections are closed
            assert open_descriptors() == before
        await runner.cleanup()

    asyncio.run(scenario())


def test_no_bytes_end_the_input(inside: Inside) -> None:
    begun = start("cat; echo end", "s-3", stdin=True)
    stream(inside, "Start", begun, seconds=0.3)
    call(inside, "SendInput", selector("s-3") + text(2, text(1, b"all")))
    call(inside, "SendInput", selector("s-3"))
    _, *said, ended, _ = stream(inside, "Connect", selector("s-3"))
    assert ended == messages.ended(0)
    assert b"all" in b"".join(said)


def test_a_session_is_listed_while_it_runs_and_signalled(inside: Inside) -> None:
    stream(inside, "Start", start("sleep 63", "s-2"), seconds=0.2)
    assert b"s-2" in call(inside, "List", b"").content
    assert call(inside, "SendSignal", selector("s-2") + b"\x10\x0f").status_code == 200
    assert messages.ended(128 + 15) in stream(inside, "Connect", selector("s-2"))
    assert b"s-2" not in call(inside, "List", b"").content


@pytest.mark.parametrize("name", ["Sta rt", "Start%3fx", "Nothing"])
def test_a_call_of_no_known_name_is_not_passed_on(inside: Inside, name: str) -> None:
    answer = call(inside, name, b"")
    assert (answer.status_code, answer.json()["message"]) == (404, "There is no such call")


REFUSALS: list[tuple[Callable[[Inside], object], str]] = [
    (lambda inside: stream(inside, "Connect", selector("none"))[-1].decode(), "not_found"),
    (lambda inside: call(inside, "SendInput", selector("none")).text, "not_found"),
    (lambda inside: call(inside, "SendSignal", selector("x") + b"\x10\x01").text, "not a signal"),
    (lambda inside: stream(inside, "Start", b"\xff\xff")[-1].decode(), "invalid_argument"),
]


@pytest.mark.parametrize(("ask", "words"), REFUSALS)
def test_a_wrong_call_is_refused_in_the_words_of_connect(
    inside: Inside, ask: Callable[[Inside], object], words: str
) -> None:
    assert words in str(ask(inside))
