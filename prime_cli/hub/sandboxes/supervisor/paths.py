"""Where the supervisor of a hub is: its folder in the hub's data, and its socket."""

import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from prime_cli.core.errors import StorageFailed
from prime_cli.core.paths import make_folder

_LONGEST_SOCKET_PATH = 100
"""sun_path holds 108 bytes on Linux, 104 on macOS."""


@dataclass(frozen=True)
class SupervisorPaths:
    """The folder `sandboxes` of a hub's data.

    lock         held by the supervisor        <tag>.json, <tag>.log   of sandboxes that ended
    socket       where it listens              log                     what it says
    """

    folder: Path

    @property
    def lock(self) -> Path:
        return self.folder / "lock"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def socket(self) -> Path:
        """Where it listens; in a folder of this user's own if the path were too long."""
        usual = self.folder / "socket"
        if _fits(usual):
            return usual
        name = hashlib.sha256(os.fsencode(self.folder)).hexdigest()[:24]
        for folder in _own_folders():
            path = folder / f"{name}.sock"
            if folder.parent.is_dir() and _fits(path):
                _make_own(folder)
                return path
        raise StorageFailed(f"No folder has a path short enough for the socket of {self.folder}")


def _fits(path: Path) -> bool:
    return len(os.fsencode(path)) <= _LONGEST_SOCKET_PATH


def _own_folders() -> Iterator[Path]:
    """Where a socket may be, which a hub and its supervisor find alike."""
    if sys.platform == "win32":
        raise StorageFailed("There are no sandboxes on Windows")
    user = os.getuid()
    runtime = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{user}"
    for base in (runtime, tempfile.gettempdir(), "/tmp"):  # noqa: S108 - a folder of mode 0700
        yield Path(base, f"prime-{user}")


def _make_own(folder: Path) -> None:
    """A folder that only this user reaches; raises StorageFailed if another has taken its name."""
    found = make_folder(folder).lstat()
    if sys.platform != "win32" and (found.st_uid != os.getuid() or found.st_mode & 0o077):
        raise StorageFailed(f"{folder} is not this user's alone", hint="remove it")
