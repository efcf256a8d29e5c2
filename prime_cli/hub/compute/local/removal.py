"""Removing a pod: its processes, its system user, its folder, in that order."""

import os
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from prime_cli.core.errors import StorageFailed
from prime_cli.core.paths import open_descriptor
from prime_cli.core.process import run
from prime_cli.hub.compute.local.folder import PodFolder
from prime_cli.hub.compute.local.groups import find_root, kill_group, remove_group
from prime_cli.hub.compute.local.leftovers import allow_manager, stop_manager
from prime_cli.hub.compute.local.processes import Process, end_all, members
from prime_cli.hub.compute.local.system import is_root
from prime_cli.hub.compute.local.users import (
    SystemUser,
    find_user,
    give,
    kill_processes,
    remove_user,
)


def end_processes(
    folder: PodFolder, *, keeper: int | None = None, user: SystemUser | None = None
) -> None:
    """End every process of a pod, this one excepted. Raises StorageFailed when some stay."""

    def find() -> Collection[Process]:
        found = members(folder, keeper=keeper, uid=user.uid if user else None)
        if user and not _is_there(user):
            found = members(folder, keeper=keeper)
        return found.values()

    def kill() -> None:
        if user:
            kill_group(find_root(), user.name)
        with _no_user_removed(folder):
            if user and _is_there(user):
                kill_processes(user)

    if not end_all(find, at_once=kill if user else None):
        numbers = ", ".join(str(process.pid) for process in find())
        raise StorageFailed(
            f"Processes of the pod in {folder.path} do not end: {numbers}",
            hint="run the same command again once they have",
        )


def remove_folder(path: Path) -> None:
    """Let nothing be left of a folder, however deep it is and whatever modes its own have.

    Raises StorageFailed. `rm` walks without following links or going by names twice.
    """
    if sys.platform == "win32" or not os.path.lexists(path):
        return
    remove = ["rm", "-rf", "--", str(path)]
    done = run(remove)
    if not done.ok and path.is_dir() and not is_root():
        # Folders that their owner closed to itself. Nothing is closed to root, for whom chmod would
        # follow a link that somebody else who may write there puts in the place of a file.
        run(["chmod", "-R", "u+rwX", "--", path])
        done = run(remove)
    if not done.ok and os.path.lexists(path):
        raise StorageFailed(f"{path} cannot be removed: {done.last_lines(1) or done.code}")


def remove_pod(folder: PodFolder, user_name: str | None, *, keeper: int | None = None) -> None:
    """Let nothing be left of a pod; `user_name` is that of its system user, if it has one.

    Raises StorageFailed when something stays; then it may be called again.
    """
    user = find_user(user_name) if user_name else None
    if user is not None:
        stop_manager(user.name, user.uid)
    end_processes(folder, keeper=keeper, user=user)
    if user_name is not None:
        # Also of a user whom somebody else has removed.
        kill_group(find_root(), user_name)
        remove_group(find_root(), user_name)
    if user is not None:
        with _no_user_removed(folder):
            if _is_there(user):
                for disk in folder.disks():
                    give(disk, 0, 0, of=user.uid)
                allow_manager(user.uid)
                remove_user(user)
    remove_folder(folder.path)


def _is_there(user: SystemUser) -> bool:
    """Whether the number is still this user's: it may be the next one's, once another who ends the
    same pod (a slow keeper, and who lost patience with it) has removed this one.
    """
    return find_user(user.name) == user


@contextmanager
def _no_user_removed(folder: PodFolder) -> Iterator[None]:
    """Meanwhile nobody else removes a user of the pods beside `folder`."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    try:
        # The folder of the pods itself: it is root's and closed to their users, who could else
        # hold the lock for ever.
        descriptor = open_descriptor(folder.path.parent, os.O_RDONLY)
    except FileNotFoundError:  # somebody removed it, with every pod
        yield
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
