"""The folder of a pod: where its things are, what was ordered, and how it is.

The folder is its hub's. What the pod's user may read is in `ssh`, what it may write in `home`:

    order.json   what was asked for, written once          said      a pipe for sshd's words
    state.json   how it is, written by the keeper          log       those words, bounded
    lock         held by whoever makes or keeps the pod; says who that is, as JSON (lock.Keeper)
    ending       is there once the pod is to end
    ssh/         host key, authorized_keys, sshd_config, session (what logins run)
    home/        where they arrive
"""

import json
import os
import re
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from prime_cli.core.paths import write_atomically

PROVISIONING = "PROVISIONING"
ACTIVE = "ACTIVE"
STOPPED = "STOPPED"
DELETING = "DELETING"
ERROR = "ERROR"
"""As `wire.pods` has them, which takes more than the standard library; a keeper has no more."""

_TAG = re.compile(r"prime-[a-z0-9-]{1,26}", re.ASCII)
"""Also the name of a system user, for which 32 letters are the most."""
_UNFINISHED = re.compile(r"\.(?P<tag>prime-[a-z0-9-]{1,26})\.[0-9a-f]{16}", re.ASCII)


def is_tag(text: str) -> bool:
    """Whether a folder and a system user may be called that."""
    return _TAG.fullmatch(text) is not None


def tag_of_folder(name: str) -> str | None:
    """The tag that a folder in the folder of pods is of, also of one that was not finished."""
    if is_tag(name):
        return name
    unfinished = _UNFINISHED.fullmatch(name)
    return unfinished["tag"] if unfinished else None


@dataclass(frozen=True)
class AttachedDisk:
    """A disk of a pod: the folder that it is, and the name of its link in the home."""

    folder: str
    link: str


@dataclass(frozen=True)
class Plan:
    """What the keeper is to make; `stop_at` is in seconds since the epoch, `memory` in GB.

    `user` is the system user to be made, or None where the pod belongs to whoever runs the hub.
    """

    tag: str
    pod_id: str
    stop_at: float
    host: str
    sshd: str
    sftp_server: str | None
    user: str | None = None
    gpus: tuple[str, ...] = ()
    disks: tuple[AttachedDisk, ...] = ()
    vcpus: int | None = None
    memory: int | None = None


@dataclass(frozen=True)
class State:
    """How a pod is; `status` is a `PodStatusEnum`, `progress` in percent.

    STOPPED is what a keeper leaves that was told to go. `again` and `crashed` are when the pod was
    last started again, for whatever reason and because its keeper had died, in seconds since the
    epoch; 0 is never. `sshd` is the process that listens, by its number and its start.
    """

    status: str
    progress: int = 0
    failure: str | None = None
    login: str = ""
    port: int = 0
    host_key: str = ""
    sshd_pid: int = 0
    sshd_start: str = ""
    again: float = 0.0
    crashed: float = 0.0


@dataclass(frozen=True)
class PodFolder:
    """The paths in the folder of a pod."""

    path: Path

    @property
    def plan(self) -> Path:
        return self.path / "order.json"

    @property
    def state(self) -> Path:
        return self.path / "state.json"

    @property
    def log(self) -> Path:
        return self.path / "log"

    @property
    def lock(self) -> Path:
        return self.path / "lock"

    @property
    def ending(self) -> Path:
        return self.path / "ending"

    @property
    def is_ending(self) -> bool:
        """Whether somebody wants it ended, or has removed it."""
        return self.ending.exists() or not self.lock.exists()

    def mark_ending(self) -> None:
        """Let nobody start it again; a full disk does not keep it from being ended."""
        with suppress(OSError):
            self.ending.touch(mode=0o600)

    @property
    def said(self) -> Path:
        return self.path / "said"

    @property
    def home(self) -> Path:
        return self.path / "home"

    @property
    def ssh(self) -> Path:
        return self.path / "ssh"

    def disks(self) -> list[Path]:
        """The folders of its disks that are there."""
        plan = self.read_plan()
        found = [Path(disk.folder) for disk in plan.disks] if plan else []
        return [path for path in found if path.is_dir()]

    def read_plan(self) -> Plan | None:
        """What was ordered; None where that is not there (any more)."""
        found = read_json(self.plan)
        if found is None:
            return None
        disks = tuple(AttachedDisk(**each) for each in found.pop("disks", ()))
        return Plan(**{**found, "gpus": tuple(found.get("gpus", ()))}, disks=disks)

    def write_plan(self, plan: Plan) -> None:
        """Raises StorageFailed."""
        write_atomically(self.plan, json.dumps(asdict(plan)).encode())

    def read_state(self) -> State | None:
        """What the keeper said last; None while it has said nothing."""
        found = read_json(self.state)
        return None if found is None else State(**found)

    def write_state(self, state: State) -> None:
        """Raises StorageFailed, also where the folder is gone."""
        temporary = self.state.with_name("state.new")
        with temporary.open("wb") as file:
            file.write(json.dumps(asdict(state)).encode())
            file.flush()
            # The machine may lose its power, and the pod is started again from this.
            os.fsync(file.fileno())
        temporary.replace(self.state)

    def change_state(self, **changes: Any) -> State:
        """Write the state anew with other values in it, and return it."""
        state = replace(self.read_state() or State(PROVISIONING), **changes)
        self.write_state(state)
        return state


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in a file; None where there is none that is whole."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
