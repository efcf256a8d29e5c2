"""The system user of a pod of a served hub, made and removed with shadow's useradd and userdel."""

import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from prime_cli.core.errors import StorageFailed
from prime_cli.core.process import Completed, run
from prime_cli.hub.compute.local.leftovers import find_leftover, remove_leftovers
from prime_cli.hub.compute.local.numbers import free_numbers, last_number, note_number
from prime_cli.hub.compute.local.system import SYSTEM_PATH

_SHELLS = ("/bin/bash", "/bin/sh")
_BUSY = frozenset({1, 10})
"""Exit codes of useradd(8) and userdel(8) while another changes the lists of users."""
_NUMBER_TAKEN = 4
"""Exit code of useradd(8)."""
_COMMENT = "a pod of prime"
"""What tells them from users who happen to have such a name."""
_TRIES = 50
_PAUSE = 0.2

_NO_USER = 2**32 - 3
"""A number that no user has: of (uid_t) -1 and -2 the one means none, and the other is taken."""
_KILL = """\
import contextlib, os, sys
user, nobody = map(int, sys.argv[1:])
try:
    os.setresuid(nobody, user, nobody)
except OSError:  # a container that has not all numbers
    os.setresuid(user, user, user)
with contextlib.suppress(ProcessLookupError):
    os.kill(-1, 9)
"""
"""A signal reaches processes whose real or saved user is the real or effective one of its sender
(kill(2)): this one reaches all of the user at one moment, and none of them reaches it.
"""


@dataclass(frozen=True)
class SystemUser:
    """A user of this machine, by its numbers."""

    name: str
    uid: int
    gid: int


def find_user(name: str) -> SystemUser | None:
    """The pod's user of that name; None where there is none, or it is no pod's."""
    if sys.platform == "win32":
        return None
    import pwd

    try:
        found = pwd.getpwnam(name)
    except KeyError:
        return None
    ours = found.pw_gecos == _COMMENT and found.pw_uid != 0
    return SystemUser(name, found.pw_uid, found.pw_gid) if ours else None


def is_of_pod(uid: int) -> bool:
    """Whether the user of this number is a pod's."""
    if sys.platform == "win32":
        return False
    import pwd

    try:
        return find_user(pwd.getpwuid(uid).pw_name) is not None
    except KeyError:
        return False


def users_in(folder: Path) -> list[str]:
    """The names of pods' users whose homes are, or were, in a folder of pods."""
    if sys.platform == "win32":
        return []
    import pwd

    ours = [found for found in pwd.getpwall() if found.pw_gecos == _COMMENT]
    return [found.pw_name for found in ours if Path(found.pw_dir).parents[1:2] == (folder,)]


def make_user(name: str, home: Path) -> SystemUser:
    """A user with a group of its own, who can be logged in by a key alone; `home` is to be in the
    folder of its pod.

    Its number is one of which nothing is found on this machine. Raises StorageFailed.
    """
    pods = home.parents[1]
    shell = next(each for each in _SHELLS if Path(each).exists())
    # A password of `*` matches none, and does not lock the account, as `!` would.
    fixed = "--system --user-group --no-create-home --password * --comment".split()
    wanted = [*fixed, _COMMENT, "--home-dir", str(home), "--shell", shell]
    try:
        for number in free_numbers(last_number(pods)):
            if find_leftover(number):
                continue
            if _change(["useradd", *wanted, "--uid", str(number), name], but=_NUMBER_TAKEN):
                note_number(pods, number)
                break
    except StorageFailed:
        # One that a keeper began, which was killed meanwhile, may have come first.
        if (user := find_user(name)) is None:
            raise
        return user
    user = find_user(name)
    if user is None:
        raise StorageFailed(f"No system user `{name}` was made")
    return user


def remove_user(user: SystemUser) -> None:
    """Remove a user who has no processes any more, and what it has outside of the pod.

    Raises StorageFailed.
    """
    remove_leftovers(user.name, user.uid)
    if find_user(user.name) == user:
        _change(["userdel", user.name])
    if _run(["getent", "group", user.name]).ok:
        _change(["groupdel", user.name])


def kill_processes(user: SystemUser) -> None:
    """Kill all processes of a user at one moment, also those that nobody has found.

    Raises StorageFailed where no program can be started for it.
    """
    if user.uid == 0 or sys.platform == "win32":
        return
    for _ in range(_TRIES):
        done = _run([sys.executable, "-I", "-S", "-c", _KILL, str(user.uid), str(_NO_USER)])
        # All such programs are the same nobody, and reach each other.
        if done.code != -signal.SIGKILL:
            break
    if not done.ok:
        raise StorageFailed(f"The processes of `{user.name}` cannot be ended: {_last(done)}")


def give(path: Path, uid: int, gid: int, *, of: int) -> None:
    """Give all of `path` that belongs to the user `of` to another, links themselves included.

    Raises StorageFailed.
    """
    done = _run(["chown", "-R", "-P", "-h", f"--from={of}", f"{uid}:{gid}", "--", str(path)])
    if not done.ok:
        raise StorageFailed(f"{path} cannot be given to its pod: {_last(done)}")


def _change(argv: Sequence[str], *, but: int | None = None) -> bool:
    """Whether it was done; if not, its exit code was `but`. Raises StorageFailed for others."""
    for _ in range(_TRIES):
        done = _run(argv)
        if done.ok or done.code == but:
            return done.ok
        if done.code not in _BUSY:
            break
        time.sleep(_PAUSE)
    raise StorageFailed(f"`{argv[0]}` failed: {_last(done)}")


def _last(done: Completed) -> str:
    return done.last_lines(1) or f"exit code {done.code}"


def _run(argv: Sequence[str]) -> Completed:
    return run(argv, cwd=Path("/"), env={"PATH": SYSTEM_PATH})
