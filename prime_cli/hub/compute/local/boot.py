"""Which start of this machine it is: what ran before another one runs no more."""

import shutil
import sys
from functools import cache
from pathlib import Path

from prime_cli.core.process import run

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_FIRST_PROCESS = Path("/proc/1/stat")
_START = 19
"""The field `starttime` of proc(5), counted behind the name of the process."""
_DARWIN = ("kern.bootsessionuuid", "kern.boottime")
"""The second moves when the clock is set; the first is not on every macOS."""


def current_boot() -> str:
    """The same text until the machine is started anew, or the container that we are in.

    Empty where the system does not say it: then no start is told from another.
    """
    return _ask_proc() if sys.platform == "linux" else _ask_sysctl()


def _ask_proc() -> str:
    return f"{_read(_BOOT_ID)} {_start_of_first()}".strip()


@cache
def _ask_sysctl() -> str:
    if shutil.which("sysctl") is None:
        return ""
    answers = (run(["sysctl", "-n", name]).out.strip() for name in _DARWIN)
    return next(filter(None, answers), "")


def _start_of_first() -> str:
    """When process 1 was started, in ticks of the kernel's clock: later in each new container."""
    fields = _read(_FIRST_PROCESS).rpartition(")")[2].split()
    return fields[_START] if len(fields) > _START else ""


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
