"""Which kept things are in use: a file for each, locked by the processes that use it.

The system drops a lock when its holder dies, however it dies. The file's time says when the thing
was used last. `<home>/cache/uses/<kind>-<name>`.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from prime_cli.core.paths import open_descriptor

_held: dict[Path, int] = {}
"""Descriptors that stay open until the process ends."""


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
            descriptor = _open(path)
            _lock(descriptor, shared=True)
            if _is_at(path, descriptor):
                _held[path] = descriptor
            else:  # removed between opening and locking
                os.close(descriptor)
        os.utime(path)


@contextmanager
def taken_over(path: Path) -> Iterator[bool]:
    """Whether nobody holds the thing of a use file, and nobody else can while the block lasts.

    This process counts too. The file is made when it is not there. Raises OSError.
    """
    if path in _held:
        yield False
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    there = path.exists()
    descriptor = _open(path)
    try:
        alone = _lock(descriptor, shared=False)
        if alone and not there:
            os.utime(path, (0, 0))  # nobody has used it
        yield alone
    finally:
        os.close(descriptor)


def last_use(path: Path) -> float | None:
    """When the thing of a use file was used last, in seconds since 1970; None if unknown."""
    try:
        return path.stat().st_mtime or None
    except OSError:
        return None


def _open(path: Path) -> int:
    return open_descriptor(path, os.O_RDWR | os.O_CREAT)


def _is_at(path: Path, descriptor: int) -> bool:
    with suppress(OSError):
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    return False


def _lock(descriptor: int, *, shared: bool) -> bool:
    """Wait for a shared lock; take one for oneself alone only if that is possible at once."""
    if sys.platform == "win32":
        # An open file cannot be removed there, which is what a lock is for.
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
