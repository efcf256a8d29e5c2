"""What a machine must be like for a hub to give pods on it to others, looked at before it serves.

There each pod has a system user of its own, and its sshd runs as that user, without a way to gain
rights. So pods cannot read each other's files or end each other's processes. They do share the
machine: its CPUs and memory within limits (`local.limits`), its disks without, its network with
what listens on loopback, the list of processes with their words, and the folders that are open to
all.
"""

import os
import shutil
import socket
import stat
import sys
from pathlib import Path

from prime_cli.core.errors import UsageError
from prime_cli.core.paths import storage_errors
from prime_cli.hub.compute.local.folder import PodFolder, is_tag
from prime_cli.hub.compute.local.lock import is_kept
from prime_cli.hub.compute.local.sshd import find_sshd
from prime_cli.hub.compute.local.system import is_root
from prime_cli.hub.compute.local.users import find_user, give, is_of_pod

_PROGRAMS = ("useradd", "userdel", "groupdel", "getent", "chown", "find", "ssh-keygen")
_LINKS = Path("/proc/sys/fs/protected_hardlinks")
_ENTER = stat.S_IXOTH
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def prepare_ground(folder: Path, host: str) -> None:
    """Make the folder of pods, 0711 and root's.

    Raises UsageError with what is in the way: not Linux, not root, a program that is missing, a
    folder that others could change or that pods' users could not pass, a host that is not here.
    Raises StorageFailed.
    """
    if sys.platform != "linux":
        raise UsageError("Pods of others need system users, which prime makes on Linux alone")
    if not is_root():
        raise UsageError(
            "To give pods on this machine to others, the hub has to make a system user for each, "
            "which takes root",
            hint="serve as root, or leave `--local-pods` away",
        )
    find_sshd()
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    if missing:
        raise UsageError(f"For pods on this machine, `{missing[0]}` is needed, which is not there")
    if _LINKS.is_file() and _LINKS.read_text(encoding="ascii").strip() == "0":
        raise UsageError(
            "On this machine users may link files of others, which could be given away with a disk",
            hint="`sysctl fs.protected_hardlinks=1`",
        )
    _require_host(host)
    _make_folder(folder.absolute())
    _close_abandoned(folder.absolute())
    _take_back_disks(folder.absolute() / "disks")


def _make_folder(folder: Path) -> None:
    with storage_errors(folder):
        for path in (folder, folder / "disks"):
            path.mkdir(mode=0o711, parents=True, exist_ok=True)
        real = folder.resolve()
        for path in (real, *real.parents):
            _require_safe(path)
        for path in (real, real / "disks"):
            path.chmod(0o711)


def _close_abandoned(folder: Path) -> None:
    """Close pods to all but root whose users this machine has lost, as a container made anew has:
    their numbers may become those of other pods' users.
    """
    if sys.platform == "win32":
        return
    for path in folder.iterdir():
        if is_tag(path.name) and find_user(path.name) is None and not is_kept(PodFolder(path)):
            with storage_errors(path):
                os.chown(path, 0, 0)
                path.chmod(0o700)


def _take_back_disks(folder: Path) -> None:
    """Give root the disks whose users this machine has lost: root's alone are given to pods."""
    for path in folder.iterdir():
        owner = path.lstat().st_uid
        if is_tag(path.name) and owner != 0 and not is_of_pod(owner):
            give(path, 0, 0, of=owner)


def _require_safe(path: Path) -> None:
    found = path.lstat()
    shared = bool(found.st_mode & stat.S_ISVTX)
    if found.st_uid != 0 or (found.st_mode & _OTHERS_WRITE and not shared):
        raise UsageError(
            f"The folder {path} belongs to others or may be changed by them, and pods would be "
            "in it",
            hint="name one of root's with `--pods-folder`",
        )
    if not found.st_mode & _ENTER:
        raise UsageError(
            f"The users of pods could not pass the folder {path}, which is closed to others",
            hint="name another with `--pods-folder`",
        )


def _require_host(host: str) -> None:
    try:
        family, kind, _, _, place = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.bind(place)
            everywhere = probe.getsockname()[0] in ("0.0.0.0", "::")  # noqa: S104 - refused below
    except (OSError, UnicodeError) as error:
        raise UsageError(
            f"`--pods-host {host}` is no address of this machine",
            hint="name one that clients reach, on which the pods' ports may listen",
        ) from error
    if everywhere:
        raise UsageError(
            f"Clients could not reach `{host}`: it means all addresses",
            hint="name one of them with `--pods-host`",
        )


def let_pass(path: Path, gid: int) -> None:
    """Let the group `gid` pass a pod's folder and read what its sshd needs; it stays root's."""
    if sys.platform == "win32":
        return
    os.chown(path, 0, gid)
    path.chmod(0o710)
    for each in (path / "ssh", *sorted((path / "ssh").iterdir())):
        os.chown(each, 0, gid, follow_symlinks=False)
        each.chmod(0o750 if each.is_dir() else 0o640)
