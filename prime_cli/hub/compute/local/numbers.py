"""The numbers of system users that a pod's user may get: nobody has them, and nobody runs as them.

`useradd` looks at the lists of users alone. But a container's processes run under numbers that the
machine has no user for, often 999, and so may what outlived a user that somebody removed. A pod
with such a number could end those processes, they could end the pod's, and all of them would be
killed with the pod.
"""

import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from prime_cli.core.errors import StorageFailed

_PROC = Path("/proc")
_SYSTEM = range(999, 200, -1)
"""What login.defs(5) leaves to system users (SYS_UID_MIN, SYS_UID_MAX) on all distributions."""


def free_numbers() -> Iterator[int]:
    """Numbers that are free as a user's, as a group's and among processes, the highest first.

    Another program may take one of them meanwhile. Raises StorageFailed at their end.
    """
    running = running_numbers()
    for number in _SYSTEM:
        if number not in running and not _is_listed(number):
            yield number
    raise StorageFailed("No number is left for the system user of another pod")


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
