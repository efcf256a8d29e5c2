"""The processes of a pod: found by what they are of, and ended without touching any other.

On Linux a process is of a pod when it descends from its keeper (who also inherits those that
detached themselves), when its first environment holds the pod's folder in `PRIME_POD_FOLDER`, when
it is the pod's sshd, known by the pipe that it speaks into, or when it runs as the pod's own
system user. Elsewhere (macOS) there is no `/proc`, and nobody inherits: what a pod's user detached
from its session is not found there, and stays.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from prime_cli.core.process import run
from prime_cli.hub.compute.local.folder import PodFolder

MARK = "PRIME_POD_FOLDER"
_PROC = Path("/proc")
_PAUSE = 0.02
_SERVERS_END_WITHIN = 5.0


@dataclass(frozen=True)
class Process:
    """A process; its number may be used again, but not with the same `start`."""

    pid: int
    parent: int
    start: str


def processes() -> dict[int, Process]:
    """All processes that are alive, by their ids; zombies are not."""
    found = _from_proc() if sys.platform == "linux" else _from_ps()
    return {process.pid: process for process in found}


def members(
    folder: PodFolder, *, keeper: int | None = None, uid: int | None = None
) -> dict[int, Process]:
    """The processes of a pod, without this one; `uid` is that of its own system user."""
    table = processes()
    own = {pid for pid in table if pid == keeper or _is_marked(pid, folder, uid)}
    children: dict[int, list[int]] = {}
    for process in table.values():
        children.setdefault(process.parent, []).append(process.pid)
    waiting = list(own)
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child not in own:
                own.add(child)
                waiting.append(child)
    return {pid: table[pid] for pid in own if pid != os.getpid()}


def end_all(
    find: Callable[[], Collection[Process]],
    *,
    at_once: Callable[[], None] | None = None,
    grace: float = 1.0,
    seconds: float = 20.0,
) -> bool:
    """End what `find` finds, asked first and then killed; whether nothing is left of it.

    `at_once` kills more surely than one by one, where there is such a way.
    """
    if sys.platform == "win32":
        return True
    # Found once: among thousands of processes that takes long, and they make more meanwhile.
    for process in find():
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGCONT):
            send(process, number)
    if not _until_none(find, grace) and at_once is None:
        return True
    deadline = time.monotonic() + seconds
    while True:
        # Also where none is found: who takes a new number all the time is seen under none.
        if at_once is not None:
            at_once()
        left = find()
        for process in left:
            send(process, signal.SIGKILL)
        reap()
        if not left or time.monotonic() > deadline:
            return not left
        time.sleep(_PAUSE)


def send(process: Process, number: int) -> None:
    """Send a signal to this process, and to none that was given its number since."""
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform != "linux":
            os.kill(process.pid, number)
            return
        handle = os.pidfd_open(process.pid)
        try:
            now = _read_stat(process.pid)
            if now is not None and now.start == process.start:
                signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)


def find_process(pid: int, start: str | None = None) -> Process | None:
    """The process of this number that is alive, and was started then if `start` says when."""
    found = _read_stat(pid) if sys.platform == "linux" else processes().get(pid)
    return found if found is not None and start in (None, found.start) else None


def end_servers(folder: PodFolder) -> None:
    """Kill what speaks into the pipe of a pod: its sshd, and the one of each session.

    What was begun in the pod and is no session of it goes on.
    """
    if sys.platform == "win32":
        return

    def find() -> list[Process]:
        return [each for each in processes().values() if _speaks(each.pid, folder)]

    for process in find():
        send(process, signal.SIGKILL)
    _until_none(find, _SERVERS_END_WITHIN)


def reap() -> dict[int, int]:
    """Take the exit statuses of children that ended, by their process ids."""
    ended: dict[int, int] = {}
    if sys.platform == "win32":
        return ended
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            ended[pid] = os.waitstatus_to_exitcode(status)
    return ended


def _until_none(find: Callable[[], Collection[Process]], seconds: float) -> bool:
    """Wait for all to end; whether some are left."""
    deadline = time.monotonic() + seconds
    while left := bool(find()):
        reap()
        if time.monotonic() > deadline:
            break
        time.sleep(_PAUSE)
    return left


def _is_marked(pid: int, folder: PodFolder, uid: int | None) -> bool:
    try:
        if uid is not None and _runs_as(pid, uid):
            return True
        if b"\0" + _mark(folder) + b"\0" in b"\0" + (_PROC / str(pid) / "environ").read_bytes():
            return True
    except OSError:
        return False
    return _speaks(pid, folder)


def _speaks(pid: int, folder: PodFolder) -> bool:
    try:
        return (_PROC / str(pid) / "fd" / "2").readlink() == folder.said
    except OSError:
        return False


def _runs_as(pid: int, uid: int) -> bool:
    """By `status`: the owner of a process's files is root where it keeps its memory to itself."""
    status = (_PROC / str(pid) / "status").read_text(encoding="utf-8", errors="replace")
    line = next((line for line in status.splitlines() if line.startswith("Uid:")), "")
    return str(uid) in line.split()[1:]


def _mark(folder: PodFolder) -> bytes:
    return os.fsencode(f"{MARK}={folder.path}")


def _from_proc() -> Iterator[Process]:
    for entry in _PROC.iterdir():
        if entry.name.isdigit() and (process := _read_stat(int(entry.name))):
            yield process


def _read_stat(pid: int) -> Process | None:
    """`/proc/PID/stat` (proc(5)): the name, in brackets, may hold anything."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else Process(pid, int(fields[1]), fields[19])


def _from_ps() -> Iterator[Process]:
    done = run(["ps", "-axo", "pid=,ppid=,stat=,lstart="])
    for line in done.out.splitlines():
        pid, parent, state, start = line.split(maxsplit=3)
        if not state.startswith("Z"):
            yield Process(int(pid), int(parent), start)
