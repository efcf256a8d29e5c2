"""System V's shared memory, queues and semaphores of a user, which outlive all its processes."""

import ctypes
import sys
from collections.abc import Iterator
from pathlib import Path

_LISTS = Path("/proc/sysvipc")
_REMOVE = 0
"""IPC_RMID of shmctl(2), msgctl(2) and semctl(2)."""


def remove_shared(uid: int) -> None:
    """Let nothing be left of what a user made or owns; the next with its number would inherit it.

    What is in the way of that, as on systems without such lists, is no reason to stop.
    """
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None)
    for number in _ids("shm", "shmid", uid):
        libc.shmctl(number, _REMOVE, None)
    for number in _ids("msg", "msqid", uid):
        libc.msgctl(number, _REMOVE, None)
    for number in _ids("sem", "semid", uid):
        libc.semctl(number, 0, _REMOVE)


def _ids(kind: str, column: str, uid: int) -> Iterator[int]:
    """By `/proc/sysvipc/KIND` (proc(5)), whose first line names the columns."""
    try:
        first, *lines = (_LISTS / kind).read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return
    for line in lines:
        row = dict(zip(first.split(), line.split(), strict=False))
        # Of one that was given to somebody else the maker is still the user.
        if str(uid) in (row["uid"], row["cuid"]):
            yield int(row[column])
