"""Which addresses a process and all its children reach for, by the system calls that they make."""

import ipaddress
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.helpers.cli import COMMAND, Result
from tests.helpers.tools import require

_CALLS = "trace=connect,sendto,sendmsg,sendmmsg"
_ADDRESS = re.compile(r'inet_addr\("([^"]+)"\)|inet_pton\(AF_INET6, "([^"]+)"')


def require_tracing() -> None:
    """Skip where there is no strace, or where the system does not let it look."""
    command = [require("strace"), "-f", "-qq", "-e", _CALLS, "-o", os.devnull, "true"]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("this system lets no process look at another one's calls")


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
