"""Removing a pod: its processes, its system user, its folder, in that order."""

import os
import sys
from collections.abc import Collection
from pathlib import Path

from prime_cli.core.errors import StorageFailed
from prime_cli.core.process import run
from prime_cli.hub.compute.local.folder import PodFolder
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
        return members(folder, keeper=keeper, uid=user.uid if user else None).values()

    if not end_all(find, at_once=(lambda: kill_processes(user)) if user else None):
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
    end_processes(folder, keeper=keeper, user=user)
    if user is not None:
        for disk in folder.disks():
            give(disk, 0, 0, of=user.uid)
        remove_user(user)
    remove_folder(folder.path)
