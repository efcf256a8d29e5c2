"""Reach into the network namespace of a process, from outside: a socket that listens there.

Code inside has no capability to change what is done here.
"""

import asyncio
import os
import shutil
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from prime_cli.core.errors import EnvironmentFailed
from prime_cli.core.paths import open_descriptor
from prime_cli.core.process import child_environment

_SECONDS = 20.0
_NS_GET_USERNS = 0xB701
"""ioctl_ns(2)."""

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
    nsenter = find_system_program("nsenter")
    if nsenter is None:
        raise EnvironmentFailed("The program `nsenter` is missing", hint="install util-linux")
    with open_network(pid) as (network, users):
        words = [nsenter, f"--net=/proc/self/fd/{network}"]
        if users is not None:
            words += [f"--user=/proc/self/fd/{users}", "--preserve-credentials"]
        process = await asyncio.create_subprocess_exec(
            *words,
            "--",
            *program,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            pass_fds=(network, *(() if users is None else (users,)), *pass_fds),
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


@contextmanager
def open_network(pid: int) -> Iterator[tuple[int, int | None]]:
    """The network namespace of a process, and the user namespace that owns it; None if it is ours.

    The process itself may be in a nested user namespace, which has no right to the network.
    Raises EnvironmentFailed.
    """
    if sys.platform == "win32":
        raise EnvironmentFailed("There are no namespaces on Windows")
    import fcntl

    with ExitStack() as opened:
        try:
            network = open_descriptor(Path(f"/proc/{pid}/ns/net"), os.O_RDONLY)
            opened.callback(os.close, network)
            owner = fcntl.ioctl(network, _NS_GET_USERNS)
            opened.callback(os.close, owner)
            users = Path("/proc/self/ns/user").stat()
            is_ours = os.path.samestat(os.fstat(network), Path("/proc/self/ns/net").stat())
        except OSError as error:
            raise EnvironmentFailed(
                f"The network of the sandbox cannot be set up: {error.strerror}"
            ) from error
        if is_ours:
            # As of an engine elsewhere, whose numbers of processes mean others here.
            raise EnvironmentFailed("The sandbox has no network of its own on this machine")
        yield network, None if os.path.samestat(os.fstat(owner), users) else owner


def find_system_program(name: str) -> str | None:
    """The path of a program, also where a user's PATH has no programs of administrators."""
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")


def _base_python() -> str:
    """A Python that needs no virtual environment's files."""
    found = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info[1]}"
    return str(found) if found.exists() else sys.executable
