"""The folder of a pod: where its things are, what was ordered, and how it is.

The folder is its hub's. What the pod's user may read is in `ssh`, what it may write in `home`:

    order.json   what was asked for, written once          said      a pipe for sshd's words
    state.json   how it is, written by the keeper          log       those words, bounded
    lock         held by whoever makes or keeps the pod; holds the keeper's process id
    ssh/         host key, authorized_keys, sshd_config, session (what logins run)
    home/        where they arrive
"""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from prime_cli.core.paths import open_descriptor, write_atomically

PROVISIONING = "PROVISIONING"
ACTIVE = "ACTIVE"
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
    """What the keeper is to make; `stop_at` is in seconds since the epoch.

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


@dataclass(frozen=True)
class State:
    """How a pod is; `status` is a `PodStatusEnum`, `progress` in percent."""

    status: str
    progress: int = 0
    failure: str | None = None
    login: str = ""
    port: int = 0
    host_key: str = ""


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
        found = _read_json(self.plan)
        if found is None:
            return None
        disks = tuple(AttachedDisk(**each) for each in found.pop("disks", ()))
        return Plan(**{**found, "gpus": tuple(found.get("gpus", ()))}, disks=disks)

    def write_plan(self, plan: Plan) -> None:
        """Raises StorageFailed."""
        write_atomically(self.plan, json.dumps(asdict(plan)).encode())

    def read_state(self) -> State | None:
        """What the keeper said last; None while it has said nothing."""
        found = _read_json(self.state)
        return None if found is None else State(**found)

    def write_state(self, state: State) -> None:
        """Raises StorageFailed, also where the folder is gone."""
        temporary = self.state.with_name("state.new")
        temporary.write_bytes(json.dumps(asdict(state)).encode())
        temporary.replace(self.state)

    def change_state(self, **changes: Any) -> State:
        """Write the state anew with other values in it, and return it."""
        state = replace(self.read_state() or State(PROVISIONING), **changes)
        self.write_state(state)
        return state


def is_kept(folder: PodFolder) -> bool:
    """Whether whoever makes or keeps the pod is alive: the lock ends with its process."""
    with watching(folder) as kept:
        return kept()


@contextmanager
def watching(folder: PodFolder) -> Iterator[Callable[[], bool]]:
    """Yields the same question, which also holds when the folder is gone before its keeper."""
    try:
        descriptor = open_descriptor(folder.lock, os.O_RDWR)
    except OSError:
        yield lambda: False
        return
    try:
        yield lambda: _is_taken(descriptor)
    finally:
        os.close(descriptor)


def keeper_of(folder: PodFolder) -> int | None:
    """The process id of the keeper; None where there is none (yet)."""
    with suppress(OSError, ValueError):
        return int(folder.lock.read_text(encoding="ascii"))
    return None


def take_lock(folder: PodFolder) -> int:
    """Make the lock and take it; the descriptor may be given to another process."""
    descriptor = open_descriptor(folder.lock, os.O_RDWR | os.O_CREAT)
    if sys.platform != "win32":
        import fcntl

        # Who looks whether it is taken has it for a moment.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def _is_taken(descriptor: int) -> bool:
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return False


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
