"""What a user leaves on a machine that outlives its processes, and the next user with its number
would inherit: files, messages, mail, jobs that others run in its name, and its manager.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from prime_cli.core.errors import StorageFailed
from prime_cli.core.paths import storage_errors
from prime_cli.core.process import TimedOut, run
from prime_cli.hub.compute.local.shared_memory import remove_shared
from prime_cli.hub.compute.local.system import SYSTEM_PATH

_OPEN_TO_ALL = (
    "tmp", "var/tmp", "dev/shm", "dev/mqueue", "run/lock", "run/screen", "var/crash", "var/mail",
    "var/spool/mail", "var/spool/cron", "var/spool/at", "var/lib/systemd/linger",
)  # fmt: skip
"""Where users, or programs in their name, may leave files, at any depth."""
_BY_NAME = (
    "var/lib/systemd/linger", "var/spool/cron", "var/spool/cron/crontabs", "var/spool/cron/tabs",
    "var/mail", "var/spool/mail",
)  # fmt: skip
"""Where a file is a user's by its name, whoever owns it: there it is acted upon in that name."""
_RUNTIME = "run/user"
_SYSTEMD = "run/systemd/system"
"""Is there where systemd runs the machine (sd_booted(3))."""
_SECONDS = 60.0


@dataclass(frozen=True)
class System:
    """Where the folders of the system are, and its programs, as PATH has them."""

    root: Path = Path("/")
    path: str = SYSTEM_PATH


_HERE = System()


def remove_leftovers(name: str, uid: int, system: System = _HERE) -> None:
    """Let nothing be left of a user without processes but its home and its entry among the users.

    Raises StorageFailed where something stays; while it does, its number must not be another's.
    """
    for place in _BY_NAME:
        _remove(system.root / place / name)
    # Each is removed from within its folder: a name could lead elsewhere a moment later.
    _find(system, uid, ["-prune", "-execdir", "rm", "-rf", "--", "{}", "+"])
    if left := find_leftover(uid, system):
        raise StorageFailed(f"`{name}` has left {left}, which cannot be removed")
    remove_shared(uid)


def find_leftover(uid: int, system: System = _HERE) -> str:
    """A file of this number where users leave theirs; empty where there is none."""
    return _find(system, uid, ["-print", "-quit"])


def stop_manager(name: str, uid: int, system: System = _HERE) -> None:
    """Let systemd run nothing any more in the name of a user, now or when the machine starts.

    Raises StorageFailed.
    """
    _remove(system.root / "var/lib/systemd/linger" / name)
    if (system.root / _SYSTEMD).is_dir():
        _control(system, "stop", f"user@{uid}.service", f"user-runtime-dir@{uid}.service")


def forbid_manager(name: str, uid: int, system: System = _HERE) -> bool:
    """Let systemd start no manager for a user until `allow_manager` or the next boot; whether it
    starts none.

    Each may ask for one that stays (`loginctl enable-linger`), which is no part of its pod: not in
    its group, and with the rights that its sshd has given up.
    """
    if not (system.root / _SYSTEMD).is_dir():
        return True
    is_masked = _control(system, "mask", "--runtime", f"user@{uid}.service")
    stop_manager(name, uid, system)
    return is_masked


def allow_manager(uid: int, system: System = _HERE) -> None:
    """Let systemd start the managers of later users with this number."""
    if os.path.lexists(system.root / _SYSTEMD / f"user@{uid}.service"):
        _control(system, "unmask", "--runtime", f"user@{uid}.service")


def _remove(path: Path) -> None:
    # Where a system cannot be written, what is not there need not be removed.
    if os.path.lexists(path):
        with storage_errors(path):
            path.unlink(missing_ok=True)


def _find(system: System, uid: int, action: Sequence[str]) -> str:
    places = [system.root / place for place in (*_OPEN_TO_ALL, f"{_RUNTIME}/{uid}")]
    # Where `var/mail` is a link to `var/spool/mail`, each is looked at once.
    there = sorted({place.resolve() for place in places if place.is_dir()})
    if not there or sys.platform == "win32":
        return ""
    wanted = ["-xdev", "-mindepth", "1", "-uid", str(uid), *action]
    done = run(["find", *map(str, there), *wanted], cwd=system.root, env={"PATH": system.path})
    return done.out.strip()


def _control(system: System, *words: str) -> bool:
    """Ask systemd, which may have no such unit, or not answer in time; whether it has done it."""
    try:
        asked = run(["systemctl", "--quiet", *words], env={"PATH": system.path}, timeout=_SECONDS)
    except (OSError, TimedOut):
        return False
    return asked.ok
