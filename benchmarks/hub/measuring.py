"""What a server answers while wrk asks it, and what that costs it."""

import os
import re
import resource
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_TICK = 1e9


@dataclass(frozen=True)
class Load:
    """Some seconds of requests: how many, the CPU seconds of the server, p99 in milliseconds.

    `wrk` are the CPU seconds of wrk. On one machine it does some of the server's work: what waits
    in a socket is sent when the receiver acknowledges what came before. `machine` is the load
    average of the machine; `bad` says how many answers were no 2xx.
    """

    requests: int
    seconds: float
    cpu: float
    wrk: float
    p99: float
    machine: float
    bad: str

    @property
    def per_core(self) -> float:
        """Requests that a CPU second answered."""
        return self.requests / self.cpu


def load(
    pid: int, url: str, *, connections: int, seconds: int, options: Sequence[str] = ()
) -> Load:
    """Ask `url` by one thread of wrk, with its further `options`."""
    argv = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", *options, url]
    before, wrk = cpu_seconds(pid), _cpu_of_children()
    said = subprocess.run(argv, check=True, capture_output=True, text=True, encoding="utf-8").stdout
    return Load(
        requests=int(_find(r"(\d+) requests in", said)),
        seconds=seconds,
        cpu=cpu_seconds(pid) - before,
        wrk=_cpu_of_children() - wrk,
        p99=_milliseconds(_find(r"\n\s+99%\s+(\S+)", said)),
        machine=os.getloadavg()[0],
        bad=_find(r"(Non-2xx.*)", said) if "Non-2xx" in said else "",
    )


def cpu_seconds(pid: int) -> float:
    """Seconds on a CPU of all threads of a process tree (schedstat counts nanoseconds)."""
    total = 0.0
    for task in Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0]) / _TICK
        total += sum(cpu_seconds(int(child)) for child in (task / "children").read_text().split())
    return total


def _cpu_of_children() -> float:
    """CPU seconds of the processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _find(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    if found is None:
        raise SystemExit(f"wrk did not say {pattern}:\n{text}")
    return found[1]


def _milliseconds(text: str) -> float:
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", text).groups()  # type: ignore[union-attr]
    return float(number) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[unit]
