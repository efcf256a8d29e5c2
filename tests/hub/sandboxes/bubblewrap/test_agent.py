"""The agent inside a sandbox tells how each command ended, whenever that is."""

import marshal
import os
import platform
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from prime_cli.hub.sandboxes import bubblewrap

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is of Linux")

_SECONDS = 20.0
_ROOM = "_LARGEST = 1 << 18"
_SLOW_ROOM = """
import functools
class Slow:
    __index__ = functools.partial(min, range(1 << 18, 1 << 22))
_LARGEST = Slow()
"""
"""The same number, for which Python counts for 0.1 s as it begins to await a message."""


class Asked:
    """An agent without a sandbox around it."""

    def __init__(self, source: str, *within: str, seconds: float = 3 * _SECONDS) -> None:
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control.settimeout(_SECONDS)
        with theirs:
            options = str(theirs.fileno()), str(time.time() + seconds), "0", "0"
            self.process = subprocess.Popen(
                [*within, sys.executable, "-I", "-S", "-c", source, *options],
                pass_fds=[theirs.fileno()],
            )
        self.hear()

    def run(self, key: int, *argv: str) -> None:
        """Ask for a command."""
        nothing = os.open(os.devnull, os.O_RDWR)
        ask = {"id": key, "argv": argv, "env": {}, "cwd": "/"}
        socket.send_fds(self.control, [marshal.dumps(ask, 2)], [nothing] * 3)
        os.close(nothing)

    def kill(self, key: int, number: int) -> None:
        """Have a command sent a signal."""
        self.control.send(marshal.dumps({"kill": key, "signal": number}, 2))

    def hear(self) -> dict[str, int]:
        """Its next message; raises TimeoutError."""
        return msgspec.json.decode(self.control.recv(4096), type=dict[str, int])

    def end(self) -> int:
        """Hang up, and wait for its exit code."""
        self.control.close()
        return self.process.wait(_SECONDS)


def _source() -> str:
    return Path(bubblewrap.__file__).with_name("agent.py").read_text("utf-8")


@pytest.fixture
def asked() -> Iterator[Asked]:
    found = Asked(_source())
    yield found
    assert found.end() == 0


def test_a_command_that_ends_as_the_agent_begins_to_wait_is_told_of() -> None:
    assert _ROOM in _source()
    slow = Asked(_source().replace(_ROOM, _SLOW_ROOM))
    for key in range(1, 4):
        slow.run(key, "/bin/true")
        assert slow.hear() == {"id": key, "code": 0}
    assert slow.end() == 0


def test_commands_at_once_end_with_their_own_codes(asked: Asked) -> None:
    for key in range(1, 41):
        asked.run(key, "/bin/sh", "-c", f"exit {key}")
    assert sorted(asked.hear()["code"] for _ in range(40)) == list(range(1, 41))


def test_a_signal_ends_only_the_command_that_it_is_for(asked: Asked) -> None:
    for key in (1, 2):
        asked.run(key, "/bin/sleep", "60")
    asked.kill(1, 9)
    assert asked.hear() == {"id": 1, "code": 137}
    asked.kill(1, 15)
    asked.kill(2, 15)
    assert asked.hear() == {"id": 2, "code": 143}


def test_what_cannot_be_started_is_told_of_and_the_next_runs(asked: Asked) -> None:
    asked.run(1, "/nowhere/true")
    assert asked.hear() == {"id": 1, "code": 127}
    asked.run(2, "/bin/true")
    assert asked.hear() == {"id": 2, "code": 0}


def test_what_cannot_be_started_while_a_command_runs_ends_nothing_else(asked: Asked) -> None:
    asked.run(1, "/bin/sleep", "60")
    for key in range(2, 102):
        asked.run(key, "/nowhere/true")
        assert asked.hear() == {"id": key, "code": 127}
    asked.kill(1, 15)
    assert asked.hear() == {"id": 1, "code": 143}


# The child by CLONE_PARENT is a sibling of its parent, and ends before it.
_WITH_SIBLING = """
import ctypes, os, time
if ctypes.CDLL(None).syscall(56, 0x8000 | 17, 0, 0, 0, 0):
    time.sleep(0.3)
else:
    os._exit(5)
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the number of a system call")
def test_a_process_that_a_command_made_its_sibling_is_not_taken_for_it(asked: Asked) -> None:
    asked.run(1, sys.executable, "-c", _WITH_SIBLING)
    assert asked.hear() == {"id": 1, "code": 0}
    asked.run(2, "/bin/true")
    assert asked.hear() == {"id": 2, "code": 0}


_WITH_LATER_SIBLING = """
import ctypes, os, sys, time
pid = ctypes.CDLL(None).syscall(56, 0x8000 | 17, 0, 0, 0, 0)
if pid:
    open(sys.argv[1], "w").write(str(pid))
else:
    time.sleep(0.3)
    os._exit(5)
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the number of a system call")
def test_a_sibling_that_ended_does_not_count_when_the_next_is_started(
    asked: Asked, tmp_path: Path
) -> None:
    named = tmp_path / "pid"
    asked.run(1, sys.executable, "-c", _WITH_LATER_SIBLING, str(named))
    assert asked.hear() == {"id": 1, "code": 0}
    sibling = int(named.read_text("utf-8"))
    ending = os.pidfd_open(sibling)
    assert select.select([ending], [], [], _SECONDS)[0]
    os.close(ending)
    asked.run(2, "/nowhere/true")
    assert asked.hear() == {"id": 2, "code": 127}
    assert not Path("/proc", str(sibling)).exists()


@pytest.mark.parametrize("name", ["/x\udcff", "\ud800", "a\0b", ""])
def test_a_name_that_no_program_can_have_ends_nothing_else(asked: Asked, name: str) -> None:
    asked.run(1, name)
    assert asked.hear()["code"] in (126, 127)
    asked.run(2, "/bin/true")
    assert asked.hear() == {"id": 2, "code": 0}


_TRACED = """
import ctypes, os
ctypes.CDLL(None).ptrace(0, 0, 0, 0)
os.execv("/bin/true", ["true"])
"""


def test_a_command_that_asks_to_be_traced_ends_only_itself(asked: Asked) -> None:
    asked.run(1, sys.executable, "-c", _TRACED)
    assert asked.hear() == {"id": 1, "code": 137}
    asked.run(2, "/bin/true")
    assert asked.hear() == {"id": 2, "code": 0}


@pytest.mark.parametrize("how", ["--ignore-signal", "--block-signal"])
def test_an_agent_ends_in_time_and_its_commands_by_signals_whatever_it_inherits(how: str) -> None:
    asked = Asked(_source(), "env", how, seconds=1)
    asked.run(1, "/bin/sleep", "60")
    asked.kill(1, 2)
    assert asked.hear() == {"id": 1, "code": 130}
    assert asked.process.wait(_SECONDS) == -14
    asked.control.close()


def test_a_command_ends_under_a_supervisor_that_ignores_the_ends_of_its_children() -> None:
    asked = Asked(_source(), "env", "--ignore-signal=CHLD")
    asked.run(1, "/bin/sh", "-c", "exit 3")
    assert asked.hear() == {"id": 1, "code": 3}
    assert asked.end() == 0


# Into each pipe of the agent, one of which counts the processes to wait for.
_MISCOUNT = """
for fd in /proc/$PPID/fd/*
do [ "${fd##*/}" -gt 2 ] && [ -p "$fd" ] && echo >"$fd"
done
exit 0
"""


def test_an_agent_that_a_command_kept_from_waiting_for_others_ends() -> None:
    asked = Asked(_source())
    asked.run(1, "/bin/sh", "-c", _MISCOUNT)
    assert asked.hear() == {"id": 1, "code": 0}
    assert asked.control.recv(1) == b""
    assert asked.end() == 1


def test_a_supervisor_may_hang_up_before_it_has_heard_of_an_end() -> None:
    for key in range(1, 9):
        asked = Asked(_source())
        asked.run(key, "/bin/true")
        time.sleep(key / 400)
        assert asked.end() == 0
