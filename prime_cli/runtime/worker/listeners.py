"""Whose server listens on a port of this machine: one that the environment started, or another.

Told by Linux's /proc; elsewhere nothing can be told.
"""

import contextlib
import os
from collections.abc import Iterator

TABLES = ("/proc/self/net/tcp", "/proc/self/net/tcp6")
LISTENING = "0A"

OWN = "own"
FOREIGN = "foreign"
NOBODY = "nobody"


def listener_on(port: int) -> str | None:
    """OWN for a server of this process or one that it started, FOREIGN, or NOBODY.

    None where the system does not tell. A server that left its parent is taken for FOREIGN.
    """
    inodes = _listening(port)
    if inodes is None:
        return None
    if not inodes:
        return NOBODY
    links = {f"socket:[{inode}]" for inode in inodes}
    return OWN if any(_holds(pid, links) for pid in _family()) else FOREIGN


def _listening(port: int) -> set[str] | None:
    found: set[str] = set()
    told = False
    for table in TABLES:
        with contextlib.suppress(OSError), open(table, encoding="ascii") as lines:  # noqa: PTH123
            told = True
            next(lines, None)
            for line in lines:
                words = line.split()
                if words[3] == LISTENING and int(words[1].rpartition(":")[2], 16) == port:
                    found.add(words[9])
    return found if told else None


def _holds(pid: int, links: set[str]) -> bool:
    folder = f"/proc/{pid}/fd"
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):  # noqa: PTH208 - a hook that runs in every connection
            with contextlib.suppress(OSError):
                if os.readlink(f"{folder}/{name}") in links:  # noqa: PTH115
                    return True
    return False


def _family() -> Iterator[int]:
    """The process ids of this process and of all that descend from it."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdecimal():
            children.setdefault(_parent_of(name), []).append(int(name))
    waiting = [os.getpid()]
    while waiting:
        pid = waiting.pop()
        yield pid
        waiting += children.get(pid, [])


def _parent_of(pid: str) -> int:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            # pid (name) state ppid …, where a name may hold spaces and brackets
            return int(file.read().rpartition(")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return 0
