"""What a command and all its descendants cost: CPU seconds and the peak of their memory.

Linux only: it reads /proc, and makes itself the reaper of orphaned descendants, so that the CPU
time of processes which outlive their parent is counted as well.
"""

import ctypes
import os
import resource
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_SAMPLE_SECONDS = 0.25


@dataclass(frozen=True)
class Cost:
    """`cpu` and `wall` in seconds, `peak_mb` the largest sum of PSS seen, in MiB."""

    code: int
    cpu: float
    wall: float
    peak_mb: float
    processes: int
    started: float


def measure(
    argv: Sequence[str], *, env: Mapping[str, str], cwd: Path, log: Path, timeout: float
) -> Cost:
    """Run `argv` to its end, for at most `timeout` seconds; what it prints goes to `log`."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before = _children_cpu()
    started = time.time()
    with log.open("wb") as output:
        process = subprocess.Popen(
            argv,
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        sampler = _Sampler(process.pid)
        sampler.start()
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        wall = time.time() - started
        sampler.stop()
        _reap(sampler.seen)
    cpu = _children_cpu() - before
    return Cost(code, cpu, wall, sampler.peak / 1024, len(sampler.seen), started)


class _Sampler(threading.Thread):
    """Sums the PSS (shared pages divided among their users) of a process tree, again and again."""

    def __init__(self, root: int) -> None:
        super().__init__(daemon=True)
        self.peak = 0
        self.seen: set[int] = {root}
        self._stopped = threading.Event()

    def run(self) -> None:
        while not self._stopped.wait(_SAMPLE_SECONDS):
            tree = _descendants(self.seen)
            self.seen |= tree
            self.peak = max(self.peak, sum(_pss(pid) for pid in tree))

    def stop(self) -> None:
        self._stopped.set()
        self.join()


def _descendants(roots: set[int]) -> set[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    alive = {int(pid) for pids in children.values() for pid in pids}
    found: set[int] = set()
    waiting = [pid for pid in roots if pid in alive]
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found.add(pid)
            waiting.extend(children.get(pid, []))
    return found


def _pss(pid: int) -> int:
    """Proportional set size in KiB; 0 for a process that is gone."""
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
        return int(next(line for line in lines if line.startswith("Pss:")).split()[1])
    return 0


def _reap(ours: set[int]) -> None:
    """Wait for orphaned descendants, ending those that stay."""
    deadline = time.monotonic() + 5
    for pid in ours:
        while True:
            try:
                waited, _ = os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                break
            if waited:
                break
            if time.monotonic() > deadline:
                os.kill(pid, 9)
            time.sleep(0.05)


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
