"""The processes started by this one, including in sessions of their own, and how many fit.

verifiers gives each tool server and each harness a session, so they are not in this process's
group. On Linux orphans are reparented to this process; elsewhere they are lost.
"""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

PR_SET_CHILD_SUBREAPER = 36
ROUNDS = 20
"""How often to look again for processes that were started during the killing."""


def adopt_orphans() -> None:
    """Become the parent of orphaned descendants (Linux)."""
    if sys.platform != "linux":
        return
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def kill_descendants() -> None:
    """Kill all processes started by this one, at once (POSIX)."""
    if sys.platform == "win32":
        return
    for _ in range(ROUNDS):
        found = descendants(os.getpid(), _parents())
        if not found:
            return
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        _reap()


def kill_group() -> NoReturn:
    """Kill this process and all that it started, at once."""
    with contextlib.suppress(Exception):  # whatever else fails, this process ends
        kill_descendants()
    with contextlib.suppress(OSError):
        # bubblewrap leads the group if it shares our processes with the machine.
        if sys.platform != "win32" and os.getpgrp() in (os.getpid(), os.getppid()):
            os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)


def descendants(pid: int, parents: dict[int, int]) -> set[int]:
    """The descendants of `pid`, given `parents` {process: its parent}."""
    found: set[int] = set()
    newest = {pid}
    while newest:
        newest = {child for child, parent in parents.items() if parent in newest} - found
        found |= newest
    return found - {pid}


def _parents() -> dict[int, int]:
    """{process: its parent} for running processes; zombies do not count."""
    return _by_proc() if Path("/proc/self/stat").exists() else _by_ps()


def _by_proc() -> dict[int, int]:
    names = (entry.name for entry in Path("/proc").iterdir())
    return dict(filter(None, map(_parent_of, filter(str.isdigit, names))))


def _by_ps() -> dict[int, int]:
    listed = subprocess.run(
        ["/bin/ps", "-A", "-o", "pid=,ppid=,stat="],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    rows = (line.split() for line in listed.stdout.splitlines())
    return {int(pid): int(parent) for pid, parent, state in rows if state[0] != "Z"}


def _parent_of(pid: str) -> tuple[int, int] | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        # The name, in parentheses, may contain blanks and parentheses.
        state, parent = stat.rpartition(")")[2].split()[:2]
    except (OSError, ValueError):
        return None
    return None if state == "Z" else (int(pid), int(parent))


def _reap() -> None:
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


MB_PER_PROCESS = 60  # upstream's chat program on Python 3.11: about 50
SHARE = 0.6


def processes_that_fit(wanted: int, free: int | None) -> int:
    """`wanted`, or as many as fit in 60 % of `free` MB (None: unknown), but at least 1."""
    if free is None:
        return max(1, min(wanted, 4 * (os.cpu_count() or 1)))
    return max(1, min(wanted, int(free * SHARE / MB_PER_PROCESS)))


def free_mb() -> int | None:
    """Free memory in MB, or None if unknown."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:  # noqa: PTH123
            lines = dict(line.split(":", 1) for line in file)
        return int(lines["MemAvailable"].split()[0]) // 1024
    except (OSError, KeyError, ValueError):
        return None
