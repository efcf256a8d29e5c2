"""Removing a pod: its processes, its system user, its folder, in that order."""

import os
import subprocess
import sys
from pathlib import Path

from prime_cli.core.errors import StorageFailed
from prime_cli.hub.compute.local.folder import PodFolder
from prime_cli.hub.compute.local.processes import end_all, members


def end_processes(folder: PodFolder, *, keeper: int | None = None, grace: float = 1.0) -> None:
    """End every process of a pod, this one excepted. Raises StorageFailed when some stay."""
    if not end_all(lambda: members(folder, keeper=keeper).values(), grace=grace):
        numbers = ", ".join(map(str, sorted(members(folder, keeper=keeper))))
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
    done = _remove(path)
    if done.returncode and path.is_dir():
        # Folders that their owner closed to itself; root would not have noticed.
        subprocess.run(["chmod", "-R", "u+rwX", "--", path], capture_output=True, check=False)
        done = _remove(path)
    if done.returncode and os.path.lexists(path):
        last = done.stderr.strip().splitlines()[-1:] or [str(done.returncode)]
        raise StorageFailed(f"{path} cannot be removed: {last[0]}")


def _remove(path: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["rm", "-rf", "--", path],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )


def remove_pod(
    folder: PodFolder, user: str | None, *, keeper: int | None = None, grace: float = 1.0
) -> None:
    """Let nothing be left of a pod; `user` is its system user, if it has one.

    Raises StorageFailed when something stays; then it may be called again.
    """
    end_processes(folder, keeper=keeper, grace=grace)
    if user is not None:
        raise StorageFailed("System users are not removed yet")
    remove_folder(folder.path)
