"""The numbers of system users that a pod's user may get: nobody has them, and nobody runs as them.

`useradd` looks at the lists of users alone. But a container's processes run under numbers that the
machine has no user for, often 999, and so may what outlived a user that somebody removed. A pod
with such a number could end those processes, they could end the pod's, and all of them would be
killed with the pod. And what a user left in a folder that nobody thinks of is the next one's with
its number: so numbers are given in turn, and one that was had comes last.
"""

import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from prime_cli.core.errors import StorageFailed

_PROC = Path("/proc")
_SYSTEM = range(999, 200, -1)
"""What login.defs(5) leaves to system users (SYS_UID_MIN, SYS_UID_MAX) on all distributions."""
_LAST = ".number"


def free_numbers(last: int = _SYSTEM.start + 1) -> Iterator[int]:
    """Numbers that are free as a user's, as a group's and among processes: from below the `last`
    that was given downwards, then from the highest.

    Another program may take one of them meanwhile. Raises StorageFailed at their end.
    """
    running = running_numbers()
    for number in sorted(_SYSTEM, key=lambda number: (number >= last, -number)):
        if number not in running and not _is_listed(number):
            yield number
    raise StorageFailed("No number is left for the system user of another pod")


def last_number(folder: Path) -> int:
    """The number that the last user had whose pod is, or was, in this folder of pods."""
    with suppress(OSError, ValueError):
        return int((folder / _LAST).read_text(encoding="ascii"))
    return _SYSTEM.start + 1


def note_number(folder: Path, number: int) -> None:
    """Let `last_number` be this one."""
    # Where the folder is full, the same one may come once more, when nothing is seen to be left.
    with suppress(OSError):
        (folder / _LAST).write_text(str(number), encoding="ascii", newline="\n")


def running_numbers(proc: Path = _PROC) -> frozenset[int]:
    """The users and groups that processes run as, by all four of their numbers of each."""
    found: set[int] = set()
    for status in proc.glob("[0-9]*/status"):
        with suppress(OSError):
            for line in status.read_text(encoding="utf-8", errors="replace").splitlines():
                if line.startswith(("Uid:", "Gid:")):
                    found.update(map(int, line.split()[1:]))
    return frozenset(found)


def _is_listed(number: int) -> bool:
    if sys.platform == "win32":
        return False
    import grp
    import pwd

    for look in (pwd.getpwuid, grp.getgrgid):
        with suppress(KeyError):
            look(number)
            return True
    return False
