"""A lock between processes on this machine, for files that are read, changed and written again."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from prime_cli.core.errors import Conflict
from prime_cli.core.paths import make_folder, open_descriptor, storage_errors

_PAUSE = 0.02


@contextmanager
def locked(path: Path, *, seconds: float = 10.0) -> Iterator[None]:
    """Be the only one inside, among all that lock `path`; made if it is not there.

    The system drops the lock when its holder dies, so none is ever stale. Raises Conflict when
    another process holds it for `seconds`, StorageFailed where `path` cannot be written.
    """
    make_folder(path.parent)
    with storage_errors(path):
        descriptor = open_descriptor(path, os.O_RDWR | os.O_CREAT)
    with os.fdopen(descriptor, "r+b") as file:
        deadline = time.monotonic() + seconds
        while not take_lock(file):
            if time.monotonic() > deadline:
                raise Conflict(
                    f"Another prime has held {path} for {seconds:g} seconds",
                    hint="wait for it to end, then run the same command again",
                )
            time.sleep(_PAUSE)
        yield


def take_lock(file: IO[Any]) -> bool:
    """Lock an open file until it is closed; False while another process has it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            # A byte far behind the content, which others may read meanwhile.
            file.seek(1 << 20)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
