"""The folder of a pod: its files, its plan and its state.

plan.json    what was ordered                          log       of its sshd and its supervisor
state.json   how it is, written by its supervisor      ending    is there once it is to end
lock         held by whoever makes or supervises it    home/     where logins arrive
ssh/         host key, authorized_keys, sshd_config, session (what logins run)
"""

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from prime_cli.core.file_locks import is_locked
from prime_cli.core.paths import write_atomically
from prime_cli.hub.compute.logins import is_tag

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
