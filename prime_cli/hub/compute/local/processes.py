"""A pod's processes: its sshd with all descendants, and those with the pod's mark.

The mark is an environment variable set in every login, so that detached processes are found too.
One that also cleared its environment (`env -i setsid`) can no longer be attributed to the pod.
"""

import os
import time
from collections.abc import Iterator
from contextlib import suppress

import psutil

from prime_cli.core.errors import StorageFailed
from prime_cli.hub.compute.local.folder import PodFolder, State

MARK = "PRIME_POD_FOLDER"
_GRACE, _SECONDS, _PAUSE = 1.0, 20.0, 0.05


def find_sshd_of(state: State | None) -> psutil.Process | None:
    """The listening sshd; never a process that has reused its pid."""
    with suppress(psutil.Error):
        if state is not None and state.sshd_pid:
            found = psutil.Process(state.sshd_pid)
            alive = found.is_running() and found.status() != psutil.STATUS_ZOMBIE
            return found if alive and found.create_time() == state.sshd_start else None
    return None


def members(folder: PodFolder) -> set[psutil.Process]:
    """A pod's processes, including its supervisor, excluding this one."""
    found = set(_marked(folder))
    listens = find_sshd_of(folder.read_state())
    if listens is not None:
        found.add(listens)
    for process in tuple(found):
        with suppress(psutil.Error):
            found.update(process.children(recursive=True))
    return {each for each in found if each.pid != os.getpid() and _is_alive(each)}


def end_processes(folder: PodFolder) -> None:
    """End all of a pod's processes but this one: terminate first, then kill.

    Raises StorageFailed if some survive.
    """
    asked = members(folder)
    for process in asked:
        with suppress(psutil.Error):
            process.terminate()
    psutil.wait_procs(asked, timeout=_GRACE)
    deadline = time.monotonic() + _SECONDS
    # One look misses what was forked during it by a process that then ended.
    while left := members(folder) or members(folder):
        if time.monotonic() > deadline:
            numbers = ", ".join(str(process.pid) for process in left)
            raise StorageFailed(
                f"Processes of the pod in {folder.path} do not end: {numbers}",
                hint="run the same command again once they have",
            )
        for process in left:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(left, timeout=_PAUSE)


def _marked(folder: PodFolder) -> Iterator[psutil.Process]:
    # Not psutil.process_iter: its cache takes a reused pid for the process that had it before.
    for pid in psutil.pids():
        with suppress(psutil.Error, OSError):
            process = psutil.Process(pid)
            if _is_sshd_of(process, folder) or process.environ().get(MARK) == str(folder.path):
                yield process


def _is_sshd_of(process: psutil.Process, folder: PodFolder) -> bool:
    """By its configuration: its title is written over its variables.

    So an sshd is found whose supervisor was killed before it noted the pid.
    """
    if process.name() != "sshd":
        return False
    return str(folder.ssh / "sshd_config") in " ".join(process.cmdline())


def _is_alive(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    return False
