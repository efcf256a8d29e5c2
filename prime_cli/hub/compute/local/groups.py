"""Control groups of version 2 (cgroups(7)): what a pod's processes take together, and their end.

    prime/keepers        keepers, which nothing holds, and which no hub's service takes with it
    prime/pods           all pods together: a part of the machine stays for the machine
    prime/pods/TAG       a pod's sshd and whatever comes of it; it is root's, so nobody leaves it

What is not there (a container that may not write them, controllers that version 1 has, a kernel
that is older than a file) is left out, and `Group.held` says what was not.
"""

import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from prime_cli.core.errors import StorageFailed
from prime_cli.core.paths import open_descriptor

CONTROLLERS = ("cpu", "memory", "pids")
_MOUNTS = Path("/proc/self/mountinfo")
_OWN = Path("/proc/self/cgroup")
_TOP = "prime"
_TRIES = 10
_EMPTY_SECONDS = 20.0
_PAUSE = 0.02
_PERIOD = 100_000
"""Microseconds, the kernel's own period of `cpu.max`."""


@dataclass(frozen=True)
class Share:
    """What a group may take: CPUs (None: all there are), bytes of memory, and processes, where a
    thread counts as one.
    """

    vcpus: int | None
    memory: int
    processes: int

    def values(self) -> Mapping[str, str]:
        """By the names of files, as they are written (Documentation/admin-guide/cgroup-v2.rst)."""
        cpu = "max" if self.vcpus is None else str(self.vcpus * _PERIOD)
        return {
            "cpu.max": f"{cpu} {_PERIOD}",
            "memory.max": str(self.memory),
            # What is swapped out slows all of the machine down.
            "memory.swap.max": "0",
            "pids.max": str(self.processes),
        }


@dataclass(frozen=True)
class Group:
    """The group of one pod; `held` are the controllers by which it is held to its share."""

    path: Path
    held: frozenset[str]

    @contextmanager
    def entered(self) -> Iterator[None]:
        """What is started meanwhile is in the group; this process is in `prime/keepers` after it.

        Raises StorageFailed.
        """
        _join(self.path)
        try:
            yield
        finally:
            _leave_for(self.path.parents[1] / "keepers")


def find_root(mounts: Path = _MOUNTS) -> Path | None:
    """Where the whole hierarchy of version 2 is mounted and may be written (proc_pid_mountinfo(5));
    None where it is not, as in most containers.
    """
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    for line in reversed(lines):
        mount, _, what = line.partition(" - ")
        _, _, _, inside, place, options = mount.split()[:6]
        whole = inside == "/" and what.startswith("cgroup2 ")
        if whole and "rw" in options.split(","):
            return Path(re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), place))
    return None


def make_group(root: Path, tag: str, share: Share, together: Share) -> Group:
    """The group of a pod, held to `share`, and to `together` with all others.

    Made again, it is held to the same, with whoever is in it. Raises StorageFailed, OSError.
    """
    pods = root / _TOP / "pods"
    for _ in range(_TRIES):
        # Whoever removes the last pod removes what is above it, too.
        with suppress(FileNotFoundError):
            for path in (root / _TOP, pods):
                _enable(path.parent)
                path.mkdir(mode=0o755, exist_ok=True)
            _enable(pods)
            _hold(pods, together)
            path = pods / tag
            path.mkdir(mode=0o755, exist_ok=True)
            return Group(path, _hold(path, share))
    raise StorageFailed(f"{pods / tag} cannot be made: it is removed all the time")


def kill_group(root: Path | None, tag: str) -> bool:
    """Kill all that is in the group of a pod at one moment; whether there is such a way (5.14)."""
    return root is not None and _put(root / _TOP / "pods" / tag / "cgroup.kill", "1")


def remove_group(root: Path | None, tag: str) -> None:
    """Let nothing be left of a group whose processes were ended.

    Raises StorageFailed while some are in it.
    """
    if root is None:
        return
    path = root / _TOP / "pods" / tag
    deadline = time.monotonic() + _EMPTY_SECONDS
    while not _removed(path):
        # A process that was killed is in its group until it is no more.
        if time.monotonic() > deadline:
            raise StorageFailed(f"{path} still has processes")
        time.sleep(_PAUSE)
    if _removed(path.parent) and "0::/prime/keepers" in _OWN.read_text("utf-8").splitlines():
        # The keeper of the last pod is in the way of removing the rest.
        _put(root / "cgroup.procs", str(os.getpid()))
    for above in (root / _TOP / "keepers", root / _TOP):
        _removed(above)


def _removed(path: Path) -> bool:
    try:
        path.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _enable(path: Path) -> None:
    """Let groups in this one have the controllers; each that cannot be had is left out."""
    for name in CONTROLLERS:
        _put(path / "cgroup.subtree_control", f"+{name}")


def _hold(path: Path, share: Share) -> frozenset[str]:
    done = {name: _put(path / name, value) for name, value in share.values().items()}
    return frozenset(name for name in CONTROLLERS if done[f"{name}.max"])


def _join(path: Path) -> None:
    if not _put(path / "cgroup.procs", str(os.getpid())):
        raise StorageFailed(f"The keeper of a pod cannot enter {path}")


def _leave_for(path: Path) -> None:
    for _ in range(_TRIES):
        # Whoever removes a pod removes this group too, when it is empty.
        with suppress(OSError, StorageFailed):
            path.mkdir(mode=0o755, exist_ok=True)
            _join(path)
            return
    _join(path)


def _put(path: Path, text: str) -> bool:
    """Whether a file that is there took it; none is made, as it would be where no groups are."""
    try:
        descriptor = open_descriptor(path, os.O_WRONLY | os.O_TRUNC)
    except OSError:
        return False
    try:
        os.write(descriptor, text.encode("ascii"))
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True
