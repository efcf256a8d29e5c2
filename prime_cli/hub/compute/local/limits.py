"""What a pod of a served hub is held to: its share of the machine, by whatever holds it here.

Control groups hold CPUs, memory and processes. Without them there are the limits that each user
has (setrlimit(2)): of processes, which is enough for a fork bomb. None of those is of use for
memory: RLIMIT_AS counts what is reserved, of which CUDA, Go and Java have far more than there is,
and counts each process for itself. So there the kernel is told whom to end first when memory runs
out. Room on disks is not held.
"""

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from prime_cli.core.errors import StorageFailed
from prime_cli.hub.compute.local.groups import (
    Group,
    Share,
    find_root,
    make_group,
    remove_group,
)

_GB = 10**9
_SCORE = Path("/proc/self/oom_score_adj")
_ENDED_FIRST = 500
"""Of 1000 (proc(5)): before the hub and its database, of which none is beyond 0."""
_PROCESSES = 4096
_PROCESSES_PER_CPU = 1024
_MOST_PROCESSES = (Path("/proc/sys/kernel/pid_max"), Path("/proc/sys/kernel/threads-max"))


@dataclass(frozen=True)
class Machine:
    """All that there is to share: CPUs, bytes of memory, and processes."""

    vcpus: int
    memory: int
    processes: int

    @property
    def pods(self) -> Share:
        """All pods together: a tenth of the memory, 512 MB to 4 GB, stays for the machine."""
        kept = min(max(self.memory // 10, _GB // 2), 4 * _GB)
        return Share(None, max(self.memory - kept, self.memory // 2), self.processes // 2)

    def share(self, vcpus: int | None, memory: int | None) -> Share:
        """What a pod with so many CPUs and GB of memory may take; None is all that pods may."""
        most = self.pods
        wanted = _PROCESSES_PER_CPU * (vcpus or self.vcpus)
        return Share(
            vcpus=vcpus if vcpus is not None and vcpus < self.vcpus else None,
            memory=most.memory if memory is None else min(memory * _GB, most.memory),
            processes=min(max(_PROCESSES, wanted), most.processes // 2),
        )


@dataclass(frozen=True)
class Limits:
    """The share of one pod, and its group; None where there are none."""

    share: Share
    group: Group | None

    @property
    def words(self) -> str:
        """As the log of the pod has it."""
        return limits_words(self.share, self.group.held if self.group else frozenset())

    @contextmanager
    def applied(self) -> Iterator[None]:
        """What is started meanwhile is held; this process is not, if it is root's.

        Raises StorageFailed.
        """
        _limit_processes(self.share.processes)
        before = _read_score()
        _write_score(_ENDED_FIRST)
        try:
            if self.group is None:
                yield
            else:
                with self.group.entered():
                    yield
        finally:
            _write_score(before)


def this_machine() -> Machine:
    """The machine that this process runs on."""
    if sys.platform == "win32":
        return Machine(os.cpu_count() or 1, 0, 0)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    counts = [_read_count(path) for path in _MOST_PROCESSES]
    return Machine(os.cpu_count() or 1, memory, min(filter(None, counts), default=32768))


def limit_pod(tag: str, vcpus: int | None, memory: int | None) -> Limits:
    """The limits of a pod that asked for so many CPUs and GB of memory; None is as many as can be.

    What there is for it here is made. Raises nothing: a pod without a group has less to hold it.
    """
    machine, root = this_machine(), find_root()
    share = machine.share(vcpus, memory)
    if root is None:
        return Limits(share, None)
    try:
        group = make_group(root, tag, share, machine.pods)
        with group.entered():
            pass
    except (OSError, StorageFailed):
        # Who was in it before stays there.
        with suppress(OSError, StorageFailed):
            remove_group(root, tag)
        return Limits(share, None)
    return Limits(share, group)


def limits_words(share: Share, held: frozenset[str]) -> str:
    """One line: to what a pod is held, and what nothing holds."""
    vcpus = "all vCPUs" if share.vcpus is None else f"{share.vcpus} vCPUs"
    wanted = {"cpu": vcpus, "memory": f"{share.memory / _GB:.1f} GB of memory"}
    kept = [words for name, words in wanted.items() if name in held]
    kept.append(f"{share.processes} processes")
    loose = [what for name, what in (("cpu", "CPUs"), ("memory", "memory")) if name not in held]
    return f"held to {', '.join(kept)}; not held: {', '.join([*loose, 'room on disks'])}"


def what_is_held() -> frozenset[str]:
    """What pods of this machine are held to: `cpu`, `memory`, and in any case `pids`.

    A group is made and removed for it, as some may see files of groups that they cannot write.
    """
    root, machine = find_root(), this_machine()
    held: frozenset[str] = frozenset()
    if root is not None:
        tag = f"probe-{secrets.token_hex(8)}"
        with suppress(OSError, StorageFailed):
            held = make_group(root, tag, machine.share(None, None), machine.pods).held
        with suppress(StorageFailed):
            remove_group(root, tag)
    return held | {"pids"}


def _limit_processes(most: int) -> None:
    if sys.platform == "win32":
        return
    import resource

    # Counted by user, and root, who starts sshd, is not held to it.
    with suppress(OSError, ValueError):
        _, hard = resource.getrlimit(resource.RLIMIT_NPROC)
        kept = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(resource.RLIMIT_NPROC, (kept, kept))
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _read_score() -> int:
    try:
        return int(_SCORE.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0


def _write_score(score: int) -> None:
    # Without the right to go back (CAP_SYS_RESOURCE) the least that was ever set still may be.
    with suppress(OSError):
        _SCORE.write_text(str(score), encoding="ascii", newline="\n")


def _read_count(path: Path) -> int:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0
