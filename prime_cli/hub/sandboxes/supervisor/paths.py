"""Where the supervisor of a hub is: its folder in the hub's data, and its socket."""

import hashlib
import os
import sys
import tempfile
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
        if len(os.fsencode(usual)) <= _LONGEST_SOCKET_PATH:
            return usual
        name = hashlib.sha256(os.fsencode(self.folder)).hexdigest()[:24]
        return _own_folder() / f"{name}.sock"


def _own_folder() -> Path:
    """A folder that only this user reaches; raises StorageFailed if another has taken its name."""
    if sys.platform == "win32":
        raise StorageFailed("There are no sandboxes on Windows")
    runtime = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    base = Path(runtime) if Path(runtime).is_dir() else Path(tempfile.gettempdir())
    folder = make_folder(base / f"prime-{os.getuid()}")
    found = folder.lstat()
    if found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise StorageFailed(f"{folder} is not this user's alone", hint="remove it")
    return folder
