"""Reach into the network namespace of a process, from outside: a socket that listens there.

Code inside has no capability to change what is done here.
"""

import asyncio
import shutil
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from prime_cli.core.errors import EnvironmentFailed
from prime_cli.core.process import child_environment

_SECONDS = 20.0

_LISTEN = """
import socket, sys
control = socket.socket(fileno=int(sys.argv[1]))
with socket.create_server(("127.0.0.1", int(sys.argv[2])), backlog=64) as listener:
    socket.send_fds(control, [b"ready"], [listener.fileno()])
"""


async def listen_inside(pid: int, port: int) -> socket.socket:
    """A socket that listens on the loopback of a process' namespace; raises EnvironmentFailed."""
    if sys.platform == "win32":
        raise EnvironmentFailed("There are no namespaces on Windows")
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            program = [_base_python(), "-I", "-S", "-c", _LISTEN, str(theirs.fileno()), str(port)]
            await run_inside(pid, program, pass_fds=[theirs.fileno()])
        _, fds, _, _ = socket.recv_fds(ours, 16, 1)
    if not fds:
        raise EnvironmentFailed("The network of the sandbox has no place for a proxy")
    listener = socket.socket(fileno=fds[0])
    listener.setblocking(False)  # noqa: FBT003 - its only form
    return listener


async def run_inside(
    pid: int, program: Sequence[str], *, stdin: bytes = b"", pass_fds: Sequence[int] = ()
) -> None:
    """Run a program of this machine in the network of a process; raises EnvironmentFailed."""
    nsenter = shutil.which("nsenter")
    if nsenter is None:
        raise EnvironmentFailed("The program `nsenter` is missing", hint="install util-linux")
    words = [nsenter, f"--target={pid}", "--net"]
    if not _is_ours(pid):
        words += ["--user", "--preserve-credentials"]
    process = await asyncio.create_subprocess_exec(
        *words,
        "--",
        *program,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        pass_fds=tuple(pass_fds),
        env=child_environment(),
    )
    try:
        async with asyncio.timeout(_SECONDS):
            _, said = await process.communicate(stdin)
    except TimeoutError as error:
        with suppress(ProcessLookupError):
            process.kill()
        raise EnvironmentFailed("The network of the sandbox cannot be set up") from error
    if process.returncode:
        lines = said.decode(errors="replace").strip().splitlines()
        why = lines[-1][:300] if lines else f"exit code {process.returncode}"
        raise EnvironmentFailed(f"The network of the sandbox cannot be set up: {why}")


def _is_ours(pid: int) -> bool:
    """Whether it is in our user namespace."""
    with suppress(OSError):
        theirs = Path(f"/proc/{pid}/ns/user").readlink()
        return theirs == Path("/proc/self/ns/user").readlink()
    return True


def _base_python() -> str:
    """A Python that needs no virtual environment's files."""
    found = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info[1]}"
    return str(found) if found.exists() else sys.executable
