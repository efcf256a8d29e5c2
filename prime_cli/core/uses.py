"""Which kept things are in use: a file for each, locked by the processes that use it.

The system drops a lock when its holder dies, however it dies. The file's time says when the thing
was used last. `<home>/cache/uses/<kind>-<name>`.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

_held: dict[Path, BinaryIO] = {}


def use_file(home: Path, kind: str, name: str) -> Path:
    return home / "cache" / "uses" / f"{kind}-{name}"


def hold(home: Path, kind: str, name: str) -> None:
    """Say that this process uses something of `home`, until the process ends.

    Must come before one looks whether it is there, so that it is not removed in between. A home
    that cannot be written has nothing removed from it either.
    """
    path = use_file(home, kind, name)
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        while path not in _held:
            file = path.open("ab")
            _lock(file, shared=True)
            if _is_at(path, file):
                _held[path] = file
            else:  # removed between opening and locking
                file.close()
        os.utime(path)


def take_over(path: Path) -> BinaryIO | None:
    """The lock of a use file for oneself alone, held while the returned file is open.

    None when a process, this one too, holds the thing. The file is made when it is not there.
    """
    if path in _held:
        return None
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    there = path.exists()
    file = path.open("ab")
    if not _lock(file, shared=False):
        file.close()
        return None
    if not there:
        os.utime(path, (0, 0))  # nobody has used it
    return file


def last_use(path: Path) -> float | None:
    """When the thing of a use file was used last, in seconds since 1970; None if unknown."""
    try:
        return path.stat().st_mtime or None
    except OSError:
        return None


def _is_at(path: Path, file: BinaryIO) -> bool:
    with suppress(OSError):
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    return False


def _lock(file: BinaryIO, *, shared: bool) -> bool:
    """Wait for a shared lock; take one for oneself alone only if that is possible at once."""
    if sys.platform == "win32":
        # An open file cannot be removed there, which is what a lock is for.
        return True
    import fcntl

    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_SH if shared else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
