"""Locks on single bytes of a file that the system drops when their holder is gone.

They belong to an open file and not to a process (`F_OFD_SETLK`), so two gateways of one process
exclude each other too, and closing another descriptor of the same file drops nothing.
"""

import os
import struct
import sys

# struct flock: Linux has type and whence first, the BSDs and macOS last.
_LINUX = sys.platform.startswith("linux")
_LAYOUT = "hhqqi4x" if _LINUX else "qqihh"


def can_lock() -> bool:
    """Whether this system has such locks."""
    if sys.platform == "win32":
        return False
    import fcntl

    return hasattr(fcntl, "F_OFD_SETLK")


def lock_byte(descriptor: int, position: int) -> bool:
    """Take the lock, without waiting; False when another open file has it."""
    try:
        _set(descriptor, position, exclusive=True)
    except OSError:
        return False
    return True


def unlock_byte(descriptor: int, position: int) -> None:
    """Give a lock back."""
    _set(descriptor, position, exclusive=False)


def _set(descriptor: int, position: int, *, exclusive: bool) -> None:
    if sys.platform == "win32":
        raise OSError("there are no such locks here")
    import fcntl

    kind = fcntl.F_WRLCK if exclusive else fcntl.F_UNLCK
    if _LINUX:
        request = struct.pack(_LAYOUT, kind, os.SEEK_SET, position, 1, 0)
    else:
        request = struct.pack(_LAYOUT, position, 1, 0, kind, os.SEEK_SET)
    fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, request)
