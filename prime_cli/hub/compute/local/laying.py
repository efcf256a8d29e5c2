"""Laying the folder of a pod: complete under another name, then in its place at once."""

import os
import secrets
import sys
from pathlib import Path
from typing import Protocol

from prime_cli.core.errors import StorageFailed
from prime_cli.core.paths import storage_errors
from prime_cli.hub.compute.local.folder import (
    PROVISIONING,
    AttachedDisk,
    Plan,
    PodFolder,
    State,
)
from prime_cli.hub.compute.local.gpus import find_gpus
from prime_cli.hub.compute.local.lock import take_lock
from prime_cli.hub.compute.local.machine import CPU_NODE
from prime_cli.hub.compute.local.removal import remove_folder
from prime_cli.hub.compute.local.sshd import find_sftp_server, find_sshd, session_text
from prime_cli.hub.compute.provider import PodSpec


class Ground(Protocol):
    """Where pods are laid, see LocalProvider."""

    @property
    def folder(self) -> Path: ...
    @property
    def host(self) -> str: ...
    @property
    def users(self) -> bool: ...


def lay(ground: Ground, order: PodSpec) -> int | None:
    """Make the folder of a pod, and return the descriptor of its lock, which is taken.

    None where it is there already. Raises StorageFailed; nothing is left then.
    """
    place = ground.folder.absolute() / order.tag
    if place.exists():
        return None
    folder = PodFolder(place.with_name(f".{order.tag}.{secrets.token_hex(8)}"))
    lock: int | None = None
    try:
        with storage_errors(folder.path):
            folder.path.mkdir(mode=0o700)
            lock = take_lock(folder)
            _write(folder, order, _plan(ground, order))
        if _move(folder.path, place):
            return lock
    except BaseException:
        _abandon(folder.path, lock)
        raise
    _abandon(folder.path, lock)
    return None


def _abandon(path: Path, lock: int | None) -> None:
    if lock is not None:
        os.close(lock)
    remove_folder(path)


def _move(path: Path, place: Path) -> bool:
    """Whether it is in its place now; if not, another was there before."""
    try:
        path.rename(place)
    except OSError as error:
        if place.exists():
            return False
        raise StorageFailed(f"{place} cannot be made: {error.strerror}") from error
    return True


def _plan(ground: Ground, order: PodSpec) -> Plan:
    wants_gpus = order.offer.gpu_type != CPU_NODE
    names: set[str] = set()
    disks = []
    for mount in order.disks:
        link = link_name(mount.name, mount.disk_id, names)
        names.add(link)
        disks.append(AttachedDisk(str(ground.folder.absolute() / "disks" / mount.tag), link))
    return Plan(
        tag=order.tag,
        pod_id=order.pod_id,
        stop_at=order.stop_at.timestamp(),
        host=ground.host,
        sshd=find_sshd(),
        sftp_server=find_sftp_server(),
        user=order.tag if ground.users else None,
        gpus=find_gpus().indices if wants_gpus else (),
        disks=tuple(disks),
        vcpus=order.vcpus,
        memory=order.memory,
    )


def link_name(name: str, disk_id: str, taken: set[str]) -> str:
    """What a disk is called in the home of a pod: its name, where that is a plain one."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "-" for c in name)
    plain = plain.strip("-")[:64] or "disk"
    return plain if plain not in taken else f"{plain}-{disk_id[:8]}"


def _write(folder: PodFolder, order: PodSpec, plan: Plan) -> None:
    if sys.platform == "win32":
        return
    folder.ssh.mkdir(mode=0o700)
    folder.home.mkdir(mode=0o700)
    for disk in plan.disks:
        (folder.home / disk.link).symlink_to(disk.folder)
    os.mkfifo(folder.said, 0o600)
    variables = {"CUDA_VISIBLE_DEVICES": ",".join(plan.gpus)} if plan.gpus else {}
    session = session_text({**variables, **order.variables})
    for name, text in (("session", session), ("authorized_keys", _lines(order.authorized_keys))):
        path = folder.ssh / name
        path.touch(mode=0o600)
        path.write_bytes(text.encode())
    folder.write_plan(plan)
    folder.write_state(State(PROVISIONING))


def _lines(keys: tuple[str, ...]) -> str:
    """A file of authorized_keys(5), where a key is one line whatever is in it."""
    return "".join(f"{' '.join(key.split())}\n" for key in keys)
