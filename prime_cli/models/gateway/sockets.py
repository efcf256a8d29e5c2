"""The folders of gateways' sockets, and those that killed runs have left."""

import os
import shutil
import socket
import sys
import tempfile
import time
from contextlib import closing, suppress
from pathlib import Path

SOCKET = "gateway.sock"
_PREFIX = "prime-gateway-"
_YOUNG_SECONDS = 5.0
"""A gateway that starts has a socket a moment before it listens."""


def make_socket_folder() -> Path:
    """A new folder, with mode 0700: nobody else can reach the socket inside it."""
    return Path(tempfile.mkdtemp(prefix=_PREFIX))


def left_socket_folders() -> list[Path]:
    """Those of this user in whose socket nobody listens any more."""
    folders = sorted(Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"))
    return [each for each in folders if _is_left(each)]


def remove_left_sockets() -> list[Path]:
    """Remove these, and return them."""
    found = left_socket_folders()
    for each in found:
        shutil.rmtree(each, ignore_errors=True)
    return found


def _is_left(folder: Path) -> bool:
    if sys.platform == "win32":
        return False
    with suppress(OSError):
        # Root can look into the folders of others.
        if folder.lstat().st_uid != os.getuid():
            return False
        path = folder / SOCKET
        if time.time() - path.stat().st_mtime < _YOUNG_SECONDS:
            return False
        with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as caller:
            try:
                caller.connect(str(path))
            except ConnectionRefusedError:
                return True
    return False
