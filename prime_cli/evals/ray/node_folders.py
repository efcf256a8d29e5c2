"""Temporary folders of workers on this node; those of workers that were killed are removed."""

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from prime_cli.core.file_locks import is_locked, locked
from prime_cli.core.paths import storage_errors

_PREFIX = "prime-ray-"
_LOCK = "in-use"
_SECONDS_TO_LOCK = 60.0
"""One that has only been made may not be locked yet."""


@contextmanager
def node_folder() -> Iterator[Path]:
    """A folder for as long as the block lasts, however its process ends; raises StorageFailed."""
    _remove_unused()
    with storage_errors(Path(tempfile.gettempdir())):
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    try:
        with locked(folder / _LOCK):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_unused() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # another one's, or removed meanwhile
            is_new = time.time() - folder.stat().st_mtime < _SECONDS_TO_LOCK
            if not is_new and not is_locked(folder / _LOCK):
                shutil.rmtree(folder, ignore_errors=True)
