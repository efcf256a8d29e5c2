"""What a keeper asks of the system: to live on its own, and to inherit its descendants."""

import ctypes
import os
import sys
from contextlib import suppress
from pathlib import Path

from prime_cli.core.errors import UsageError

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


def require_login() -> None:
    """Raise UsageError where sshd would let nobody in as the user that this process runs as."""
    if sys.platform == "win32":
        return
    import pwd

    try:
        found = pwd.getpwuid(os.geteuid())
    except KeyError as error:
        raise UsageError(
            "The user that prime runs as has no name here, so that sshd lets it in nowhere"
        ) from error
    shell = found.pw_shell or "/bin/sh"
    if Path(shell).name in ("nologin", "false") or not os.access(shell, os.X_OK):
        raise UsageError(
            f"The user `{found.pw_name}` has no shell to log in with, but `{shell}`",
            hint=f"`chsh -s /bin/sh {found.pw_name}`, or run prime as somebody else",
        )
    if _is_locked(found.pw_name):
        raise UsageError(
            f"The account `{found.pw_name}` is locked, and sshd lets nobody in as it",
            hint=f"`usermod -p '*' {found.pw_name}` unlocks it for keys, and for no password",
        )


def _is_locked(name: str) -> bool:
    """By shadow(5), which root alone can read, as sshd of root does."""
    try:
        text = Path("/etc/shadow").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    entries = (line.split(":") for line in text.splitlines())
    return any(entry[0] == name and entry[1].startswith("!") for entry in entries if entry[1:])


def _prctl(option: int) -> None:
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(option, 1, 0, 0, 0)
