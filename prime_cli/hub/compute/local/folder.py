"""The folder of a pod (its files, plan and state) and its processes.

plan.json    what was ordered                          log       of its sshd and its supervisor
state.json   how it is, written by its supervisor      ending    is there once it is to end
lock         held by whoever makes or supervises it    home/     where logins arrive
ssh/         host key, authorized_keys, sshd_config, session (what logins run)
"""

import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import psutil

from prime_cli.core.errors import StorageFailed
from prime_cli.core.file_locks import is_locked
from prime_cli.core.paths import write_atomically
from prime_cli.hub.compute.sshd import is_tag

T = TypeVar("T")

_UNFINISHED = re.compile(r"\.(?P<tag>prime-[a-z0-9-]+)\.[0-9a-f]{16}", re.ASCII)


def tag_of_folder(name: str) -> str | None:
    """The tag of a pod's folder, even an unfinished one."""
    unfinished = _UNFINISHED.fullmatch(name)
    tag = unfinished["tag"] if unfinished else name
    return tag if is_tag(tag) else None


class Plan(msgspec.Struct, frozen=True):
    """What the supervisor should create; `stop_at` is in seconds since the epoch."""

    pod_id: str
    stop_at: float
    host: str
    host_key: str


class State(msgspec.Struct, frozen=True):
    """A pod's state; `status` is a `PodStatusEnum`.

    `again` is the last restart in seconds since the epoch, 0 for never. The listening process is
    `sshd_pid`, started at `sshd_start` by psutil's clock.
    """

    status: str
    failure: str | None = None
    login: str = ""
    port: int = 0
    sshd_pid: int = 0
    sshd_start: float = 0.0
    again: float = 0.0


class PodFolder(msgspec.Struct, frozen=True):
    """The paths in a pod's folder."""

    path: Path

    @property
    def log(self) -> Path:
        return self.path / "log"

    @property
    def home(self) -> Path:
        return self.path / "home"

    @property
    def ssh(self) -> Path:
        return self.path / "ssh"

    def read_plan(self) -> Plan | None:
        """What was ordered; None if it is missing (or gone)."""
        return _read(self.path / "plan.json", Plan)

    def write_plan(self, plan: Plan) -> None:
        """Raises StorageFailed."""
        write_atomically(self.path / "plan.json", msgspec.json.encode(plan))

    def read_state(self) -> State | None:
        """The supervisor's last state; None if unreadable."""
        return _read(self.path / "state.json", State)

    def change_state(self, **changes: Any) -> State:
        """Update the state with these values and return it.

        Raises OSError, including if the folder is gone: it is not recreated.
        """
        before = self.read_state() or State("PROVISIONING")
        state = msgspec.structs.replace(before, **changes)
        temporary = self.path / "state.new"
        with temporary.open("wb") as file:
            file.write(msgspec.json.encode(state))
            file.flush()
            # After a power loss, the pod is restarted from this.
            os.fsync(file.fileno())
        temporary.replace(self.path / "state.json")
        return state

    def why_down(self, now: float) -> str | None:
        """Why a pod without a supervisor is not restarted; None if it is."""
        state, plan = self.read_state(), self.read_plan()
        if state is not None and state.status == "ERROR":
            return state.failure or "It failed"
        if self.is_ending:
            return "It was being ended, and whoever did that is gone"
        for name in ("plan.json", "state.json", "ssh/host_key", "ssh/session", "home"):
            if not (self.path / name).exists():
                return f"Its folder is not whole: `{name}` is not there"
        return "Its time is over" if plan is None or plan.stop_at <= now else None

    @property
    def is_ending(self) -> bool:
        """Whether it should end, or has been removed."""
        return (self.path / "ending").exists() or not self.lock.exists()

    def mark_ending(self) -> None:
        """Tell the supervisor to end it, and prevent restarts; works even with a full disk."""
        with suppress(OSError):
            (self.path / "ending").touch(mode=0o600)

    @property
    def lock(self) -> Path:
        return self.path / "lock"

    @property
    def is_supervised(self) -> bool:
        """Whether the pod's creator or supervisor is alive: the lock ends with its process."""
        return is_locked(self.lock)


def _read(path: Path, kind: type[T]) -> T | None:
    """The record in a file; None if missing or incomplete."""
    with suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode(path.read_bytes(), type=kind)
    return None


# --- Processes ---
# A pod's are its sshd with all descendants, and those with its mark: a variable set in every login,
# so that detached processes are found too. One that also cleared its environment (`env -i setsid`)
# can no longer be attributed to the pod.

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
