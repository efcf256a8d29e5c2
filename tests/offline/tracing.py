"""Which addresses a process and all its children reach for, by the system calls that they make."""

import ipaddress
import re
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.helpers.cli import COMMAND, Result

_CALLS = "trace=connect,sendto,sendmsg,sendmmsg"
_ADDRESS = re.compile(r'inet_addr\("([^"]+)"\)|inet_pton\(AF_INET6, "([^"]+)"')


@cache
def can_trace() -> bool:
    """Whether strace is here and the system lets it work."""
    strace = shutil.which("strace")
    if strace is None:
        return False
    command = [strace, "-f", "-qq", "-e", _CALLS, "-o", "/dev/null", "true"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


needs_strace = pytest.mark.skipif(not can_trace(), reason="needs strace, and leave to use it")


def traced(
    *argv: str, cwd: Path, env: Mapping[str, str], timeout: float = 300
) -> tuple[Result, list[str]]:
    """Run `prime`; its result, and the addresses other than this machine that were reached for.

    `env` is all that it gets. Unix sockets are not among the calls that are looked at, nor are
    UDP sockets that are only bound.
    """
    log = cwd / "calls.txt"
    done = subprocess.run(
        ["strace", "-f", "-qq", "-e", _CALLS, "-o", str(log), *COMMAND, *argv],
        cwd=cwd,
        env=dict(env),
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        timeout=timeout,
        check=False,
    )
    found = _ADDRESS.findall(log.read_text(encoding="utf-8", errors="replace"))
    addresses = [four or six for four, six in found]
    away = [each for each in addresses if not ipaddress.ip_address(each).is_loopback]
    return Result(done.returncode, done.stdout, done.stderr), away
