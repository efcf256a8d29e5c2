"""Control groups of a sandbox: the limits of memory, CPU and processes that the system lets us set.

Root creates them at the top; a user in a systemd scope, which needs version 2: systemd alone
divides the others, see "Control Group APIs and Delegation" in its documentation. A limit that
cannot be set is left out, and reported.
"""

import asyncio
import os
import secrets
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Protocol

from prime_cli.core.formatting import format_bytes
from prime_cli.core.process import TimedOut, run

_SCOPE = "prime-sandboxes-"
"""The prefix of our scopes' names."""

_WORDS = ("--user", "--scope", "--quiet", "--collect", "--property=Delegate=yes")
_LIST = 'cat "/sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup)/cgroup.controllers"'
_SECONDS = 5.0
PROCESSES = 1024
"""The most processes of a sandbox."""
_ROOT = Path("/sys/fs/cgroup")
_LEAF = "supervisor"
"""Of the scope: the kernel allows either processes or groups in one."""
_PERIOD = 100_000
_PAUSES = (*(0.001 * 2**number for number in range(5)), *[0.02] * 100)
"""Between tries to remove a group, in seconds: processes that were killed take a few ms to go."""


def scope_words(environ: Mapping[str, str]) -> list[str]:
    """The words before a program with which systemd starts it in such a scope.

    None for root, who needs no scope, and where systemd refuses.
    """
    if sys.platform == "win32" or os.geteuid() == 0 or not delegated_controllers(environ):
        return []
    return _words(environ)


def delegated_controllers(environ: Mapping[str, str]) -> frozenset[str]:
    """The controllers that systemd delegates to this user, found by a try; none without systemd."""
    if "XDG_RUNTIME_DIR" not in environ:
        return frozenset()
    try:
        tried = run([*_words(environ), "sh", "-c", _LIST], env=environ, timeout=_SECONDS)
    except (OSError, TimedOut):
        return frozenset()
    return frozenset(tried.out.split() if tried.ok else ())


def _words(environ: Mapping[str, str]) -> list[str]:
    program = shutil.which("systemd-run", path=environ.get("PATH")) or "systemd-run"
    return [program, *_WORDS, f"--unit={_SCOPE}{secrets.token_hex(8)}", "--"]


class Limited(Protocol):
    """What is to be limited: the name of its groups, its bytes of memory, and its CPUs."""

    @property
    def tag(self) -> str: ...
    @property
    def memory(self) -> int: ...
    @property
    def cpu_cores(self) -> float: ...


@dataclass(frozen=True)
class _Limit:
    """A limit: what it is for, its file, its value, and the value as it is shown."""

    subject: str
    file: str
    value: str
    shown: str


class Cgroups:
    """The groups of one sandbox, one per controller or one in all."""

    def __init__(self, made: list[Path], facts: dict[str, str]) -> None:
        self._made = made
        self.facts = facts
        """What is held, by subject: only what was read back."""

    def add(self, pid: int) -> None:
        """Put a process in, with what it has started and will start; raises OSError.

        One that has ended meanwhile is left out. The kernel takes 10 to 20 ms for the first write
        after a pause, and none for the next.
        """
        with suppress(ProcessLookupError):
            for group in self._made:
                _write(group, "cgroup.procs", b"%d" % pid)
            for child in _children(pid):
                self.add(child)

    def missing(self, pids: Sequence[int]) -> list[int]:
        """Those that are not in all of them; raises OSError."""
        held = [_read(each, "cgroup.procs").split() for each in self._made]
        return [pid for pid in pids if not all(b"%d" % pid in each for each in held)]

    def was_out_of_memory(self) -> bool:
        """Whether the system ever killed a process in them for lack of memory."""
        for group in self._made:
            for name in ("memory.oom_control", "memory.events"):
                with suppress(OSError):
                    words = (group / name).read_text().split()
                    if "oom_kill" in words and words[words.index("oom_kill") + 1] != "0":
                        return True
        return False

    async def remove(self) -> None:
        """Remove them; their processes are being ended."""
        for group in self._made:
            await _remove(group)
        self._made.clear()


def _read(folder: Path | str, name: str) -> bytes:
    # A path of pathlib and a buffer take several times as long, and each start reads many of these.
    with FileIO(f"{folder}/{name}") as file:
        return file.readall()


def _write(folder: Path, name: str, content: bytes) -> None:
    with FileIO(f"{folder}/{name}", "w") as file:
        file.write(content)


def _children(pid: int) -> list[int]:
    """What a process has started; none where the kernel does not list it."""
    with suppress(FileNotFoundError):
        return [int(each) for each in _read(f"/proc/{pid}/task/{pid}", "children").split()]
    return []


def is_busy(pid: int) -> bool:
    """Whether a process or what it has started runs, is ready to, or waits for a disk."""
    with suppress(OSError):
        state = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(") ")[2][:1]
        return state in ("R", "D") or any(map(is_busy, _children(pid)))
    return False


def make_cgroups(spec: Limited, root: Path = _ROOT) -> Cgroups:
    """Create the groups of a sandbox, with its limits; fewer or none where the system refuses."""
    made: list[Path] = []
    facts: dict[str, str] = {}
    for parent, limits in _places(spec, root):
        group = parent / spec.tag
        with suppress(OSError):
            group.mkdir(exist_ok=True)
            made.append(group)
        for limit in limits:
            with suppress(OSError):
                _write(group, limit.file, limit.value.encode())
                if _same(limit, _read(group, limit.file).decode()):
                    facts[limit.subject] = limit.shown
    return Cgroups(made, facts)


def list_cgroups(prefix: str, root: Path = _ROOT) -> dict[str, list[Path]]:
    """The groups that exist, by tag."""
    found: dict[str, list[Path]] = {}
    for parent in (*(root / name for name in ("memory", "pids", "cpu")), _own_group(root)):
        if parent is not None and parent.is_dir():
            for path in parent.glob(f"{prefix}*/"):
                found.setdefault(path.name, []).append(path)
    return found


async def remove_cgroups(groups: list[Path]) -> None:
    """Kill what is in groups, and remove them."""
    for group in groups:
        with suppress(OSError):
            _kill_members(group)
        await _remove(group)


def _kill_members(group: Path) -> None:
    for pid in (group / "cgroup.procs").read_text().split():
        with suppress(OSError):
            os.kill(int(pid), 9)


def _places(spec: Limited, root: Path) -> Iterator[tuple[Path, list[_Limit]]]:
    memory, processes = format_bytes(spec.memory), f"at most {PROCESSES}"
    cpu = f"{spec.cpu_cores:g} CPU" + ("s" if spec.cpu_cores != 1 else "")
    quota = str(max(1000, int(spec.cpu_cores * _PERIOD)))
    swap = _Limit("swap", "memory.memsw.limit_in_bytes", str(spec.memory), "none")
    if (root / "cgroup.controllers").exists():
        own = _own_group(root)
        if own is not None:
            yield (
                own,
                [
                    _Limit("memory", "memory.max", str(spec.memory), memory),
                    _Limit("swap", "memory.swap.max", "0", "none"),
                    _Limit("cpu", "cpu.max", f"{quota} {_PERIOD}", cpu),
                    _Limit("processes", "pids.max", str(PROCESSES), processes),
                ],
            )
        return
    limit = _Limit("memory", "memory.limit_in_bytes", str(spec.memory), memory)
    yield root / "memory", [limit, swap]
    yield root / "cpu", [_Limit("cpu", "cpu.cfs_quota_us", quota, cpu)]
    yield root / "pids", [_Limit("processes", "pids.max", str(PROCESSES), processes)]


def _own_group(root: Path) -> Path | None:
    """The group of version 2 in which this process may make others: root's is the topmost.

    Docker and Podman use that too where systemd does not make their groups.
    """
    if not (root / "cgroup.controllers").exists():
        return None
    group = root
    # A container's topmost group is one of the machine's, and its processes are not ours to move.
    if (root / "cgroup.type").exists() or not _may_divide(root):
        group = root / _name_of_own_group()
        group = group.parent if group.name == _LEAF else group
        if not group.name.startswith(_SCOPE):
            return None
    return group if _may_divide(group) else None


def _name_of_own_group() -> str:
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
            if line.startswith("0::/"):
                return line.removeprefix("0::/")
    return ""


def _may_divide(group: Path) -> bool:
    return os.access(group / "cgroup.subtree_control", os.W_OK)


def namespace_bounds_processes() -> bool:
    """Whether RLIMIT_NPROC holds inside of a namespace alone, and not for root.

    An earlier Linux would count all of the user's processes, also outside.
    """
    if sys.platform != "linux":
        return False
    found = [int(part) for part in os.uname().release.split(".")[:2] if part.isdigit()]
    return os.geteuid() != 0 and found >= [5, 14]


def divide_own_group(root: Path = _ROOT) -> None:
    """Prepare the group of version 2 in which this process may make others, if there is one."""
    group = _own_group(root)
    if group is None:
        return
    if group != root:
        leaf = group / _LEAF
        with suppress(OSError):
            leaf.mkdir(exist_ok=True)
            for pid in _read(group, "cgroup.procs").split():
                with suppress(ProcessLookupError):
                    _write(leaf, "cgroup.procs", pid)
    for controller in ("memory", "cpu", "pids"):
        with suppress(OSError):
            _write(group, "cgroup.subtree_control", b"+" + controller.encode())


def _same(limit: _Limit, found: str) -> bool:
    """Whether the system took the value; it rounds bytes down to whole pages."""
    found = found.strip()
    if found == limit.value:
        return True
    if sys.platform == "win32":
        return False
    is_bytes = found.isdecimal() and limit.value.isdecimal()
    return is_bytes and 0 <= int(limit.value) - int(found) < os.sysconf("SC_PAGESIZE")


async def _remove(group: Path) -> None:
    for pause in _PAUSES:
        if _is_removed(group):
            return
        await asyncio.sleep(pause)


def _is_removed(group: Path) -> bool:
    """Try to; the kernel refuses while a process in it has not been reaped."""
    with suppress(OSError):
        group.rmdir()
    return not group.exists()
