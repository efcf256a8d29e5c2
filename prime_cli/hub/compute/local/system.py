"""What a keeper asks of the system: to live on its own, and to inherit its descendants."""

import ctypes
import os
import sys
from contextlib import suppress

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where the programs of the system are."""
_SUBREAPER = 36
_NO_NEW_PRIVILEGES = 38


def detach() -> None:
    """Go on as a child of nobody, in a session of its own; whoever started us sees the end of us.

    Raises OSError.
    """
    if sys.platform == "win32":
        return
    if os.fork():
        os._exit(0)
    os.setsid()


def inherit_descendants() -> None:
    """Become the parent of descendants whose own parents die (PR_SET_CHILD_SUBREAPER, Linux)."""
    _prctl(_SUBREAPER)


def renounce_privileges() -> None:
    """No program started from here on gains rights by its file: no sudo, no su (Linux)."""
    _prctl(_NO_NEW_PRIVILEGES)


def is_root() -> bool:
    """Whether this process may do everything."""
    return sys.platform != "win32" and os.geteuid() == 0


def login_name() -> str:
    """The name of the user that this process runs as. Raises KeyError where it has none."""
    if sys.platform == "win32":
        raise KeyError
    import pwd

    return pwd.getpwuid(os.geteuid()).pw_name


def _prctl(option: int) -> None:
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(option, 1, 0, 0, 0)
