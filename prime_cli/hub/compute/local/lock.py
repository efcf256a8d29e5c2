"""The lock of a pod, which whoever makes or keeps it has, and which ends with its process."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass

from prime_cli.core.paths import open_descriptor
from prime_cli.hub.compute.local.folder import PodFolder, read_json

_PAUSE = 0.02


@dataclass(frozen=True)
class Keeper:
    """A keeper: its process, whose number may be used again but not with the same `start`, and the
    start of the machine in which that holds.
    """

    pid: int
    start: str
    boot: str


def is_kept(folder: PodFolder) -> bool:
    """Whether whoever makes or keeps the pod is alive: the lock ends with its process."""
    with watching(folder) as kept:
        return kept()


@contextmanager
def watching(folder: PodFolder) -> Iterator[Callable[[], bool]]:
    """Yields the same question, which also holds when the folder is gone before its keeper."""
    try:
        descriptor = open_descriptor(folder.lock, os.O_RDWR)
    except OSError:
        yield lambda: False
        return
    try:
        yield lambda: _is_taken(descriptor)
    finally:
        os.close(descriptor)


def last_keeper(folder: PodFolder) -> Keeper | None:
    """Who keeps the pod, or did; None where nobody has yet."""
    found = read_json(folder.lock)
    with suppress(TypeError):
        return Keeper(**found) if found else None
    return None


def keeper_of(folder: PodFolder) -> int | None:
    """The process id of the last keeper; None where there was none yet."""
    keeper = last_keeper(folder)
    return keeper.pid if keeper else None


def sign_lock(descriptor: int, keeper: Keeper) -> None:
    """Write into a lock that is held who holds it. Raises OSError."""
    if sys.platform == "win32":
        return
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(asdict(keeper)).encode(), 0)
    os.fsync(descriptor)


def take_lock(folder: PodFolder) -> int:
    """Make the lock and take it; the descriptor may be given to another process."""
    descriptor = open_descriptor(folder.lock, os.O_RDWR | os.O_CREAT)
    if sys.platform != "win32":
        import fcntl

        # Who looks whether it is taken has it for a moment.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def claim_lock(folder: PodFolder, *, seconds: float = 1.0) -> int | None:
    """Take the lock of a pod that nobody keeps, as `take_lock`; None where somebody does."""
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        descriptor = open_descriptor(folder.lock, os.O_RDWR)
    except OSError:
        return None
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            # Who looks whether it is taken has it for a moment; a keeper has it for long.
            if time.monotonic() > deadline:
                os.close(descriptor)
                return None
            time.sleep(_PAUSE)
        else:
            return descriptor


def _is_taken(descriptor: int) -> bool:
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return False
