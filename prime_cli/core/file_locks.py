"""Locks between processes on this machine: for files being changed, and cached things in use.

The system drops a lock when its holder dies, however it dies, so none is ever stale. Each thing in
use has a file `<home>/cache/uses/<kind>-<name>`, whose mtime is its last use.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from prime_cli.core.errors import Conflict
from prime_cli.core.paths import home_path, make_folder, open_descriptor, storage_errors

_PAUSE = 0.02


@contextmanager
def locked(path: Path, *, seconds: float = 10.0) -> Iterator[None]:
    """Hold the exclusive lock on `path`, creating the file if needed.

    The system drops the lock when its holder dies, so none is ever stale. Raises Conflict when
    another process holds it for `seconds`, StorageFailed where `path` cannot be written.
    """
    make_folder(path.parent)
    with storage_errors(path):
        descriptor = open_descriptor(path, os.O_RDWR | os.O_CREAT)
    with os.fdopen(descriptor, "r+b") as file:
        deadline = time.monotonic() + seconds
        while not try_lock(file):
            if time.monotonic() > deadline:
                raise Conflict(
                    f"Another prime process has locked {path} for {seconds:g} seconds",
                    hint="wait until it has finished, then try again",
                )
            time.sleep(_PAUSE)
        yield


def try_lock(file: IO[Any]) -> bool:
    """Lock an open file until it is closed; False while another process has it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            # A byte far behind the content, so that others can read meanwhile.
            file.seek(1 << 20)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def take_lock(path: Path, *, is_new: bool = False, is_shared: bool = False) -> int | None:
    """The descriptor of a lock, which can be passed to another process; None if it is taken.

    Creates the file only if it `is_new`. None on Windows, which has no such locks.
    """
    if sys.platform == "win32":
        return None
    import fcntl

    how = fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX
    with suppress(OSError):
        descriptor = open_descriptor(path, os.O_RDWR | (os.O_CREAT if is_new else 0))
        try:
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor
    return None


def is_locked(path: Path) -> bool:
    """Whether a process holds the exclusive lock on this file."""
    descriptor = take_lock(path, is_shared=True)
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is None and path.exists() and sys.platform != "win32"


_held: dict[Path, int] = {}
"""Descriptors that stay open until the process ends."""


def use_file(home: Path, kind: str, name: str) -> Path:
    return home_path(home, "cache") / "uses" / f"{kind}-{name}"


def mark_in_use(home: Path, kind: str, name: str) -> None:
    """Mark something of `home` as used by this process until it exits.

    Call it before checking that the thing exists, so that it is not removed in between. Nothing is
    ever removed from a read-only home either.
    """
    path = use_file(home, kind, name)
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        while path not in _held:
            descriptor = _open(path)
            _flock(descriptor, shared=True)
            if _is_at(path, descriptor):
                _held[path] = descriptor
            else:  # removed between opening and locking
                os.close(descriptor)
        os.utime(path)


@contextmanager
def claim_unused(path: Path) -> Iterator[bool]:
    """Whether nobody uses the thing of a use file, nor can start to while the block lasts.

    This process counts too. Creates the file if needed. Raises OSError.
    """
    if path in _held:
        yield False
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    there = path.exists()
    descriptor = _open(path)
    try:
        alone = _flock(descriptor, shared=False)
        if alone and not there:
            os.utime(path, (0, 0))  # never used
        yield alone
    finally:
        os.close(descriptor)


def last_used(path: Path) -> float | None:
    """When the thing of a use file was last used, in seconds since 1970; None if unknown."""
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


def _flock(descriptor: int, *, shared: bool) -> bool:
    """Wait for a shared lock; take an exclusive one only if it is free now."""
    if sys.platform == "win32":
        # An open file cannot be removed there, which is all the lock is for.
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
