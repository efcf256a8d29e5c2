"""Sandboxes of bubblewrap: a root in memory of exact size, this system's /usr, and one Python."""

import asyncio
import os
import shutil
import socket
import sys
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

import msgspec

from prime_cli.core.errors import EnvironmentFailed, UsageError
from prime_cli.core.formatting import format_bytes
from prime_cli.core.paths import make_folder, write_atomically
from prime_cli.hub.sandboxes.bubblewrap.cgroups import (
    Cgroups,
    list_cgroups,
    make_cgroups,
    namespace_bounds_processes,
    remove_cgroups,
)
from prime_cli.hub.sandboxes.bubblewrap.process import BubblewrapSandbox
from prime_cli.hub.sandboxes.bubblewrap.pythons import StandIn, stand_in
from prime_cli.hub.sandboxes.internet import (
    INTERNET_FACT,
    NAME_SERVER,
    connect_filtered,
    require_internet,
)
from prime_cli.hub.sandboxes.provider import PROCESSES, SandboxSpec
from prime_cli.hub.sandboxes.proxy import PROXY_PORT, proxy_variables, serve_proxy
from prime_cli.hub.sandboxes.registry import SandboxContext
from prime_cli.runtime.sandbox import SYSTEM, cover_proc
from prime_cli.runtime.system_calls import system_call_filter
from prime_cli.wire.sandboxes import BUBBLEWRAP, INTERNET, NONE, PACKAGES

_AGENT = Path(__file__).with_name("agent.py")
_AGENT_INSIDE = "/run/prime/agent.py"
_UP_SECONDS = 20.0
_STDERR = 64 * 1024
_MOST_SHARED = 64 * 2**20
"""Bytes of /dev/shm, as containers have."""

_ISOLATION = (
    "--unshare-all --unshare-user --disable-userns --uid 0 --gid 0 --cap-drop ALL --new-session"
    " --die-with-parent"
).split()


class BubblewrapProvider:
    """Makes sandboxes as children of this process, which end with it."""

    name = BUBBLEWRAP
    # Inside, the processes of all users of a hub are those of one user of the machine.
    separates_users = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        """For files of every sandbox."""

    def _files(self) -> Path:
        folder = make_folder(self._folder / "etc")
        for name, text in _FILES.items():
            if not (folder / name).exists():
                write_atomically(folder / name, text.encode())
        return folder

    async def check(self, spec: SandboxSpec, *, may_fetch: bool) -> tuple[str, ...]:
        """As `SandboxProvider.check`."""
        del may_fetch  # there are no images
        _require_program()
        if spec.network == INTERNET:
            require_internet()
        return ((await stand_in(spec.image)).sentence,)

    async def create(self, spec: SandboxSpec) -> BubblewrapSandbox:
        """As `SandboxProvider.create`."""
        await self.check(spec, may_fetch=False)
        python = await stand_in(spec.image)
        groups = make_cgroups(spec)
        size = int(min(spec.disk_size_gb * 10**9, spec.memory / 2))
        try:
            agent = [str(python.python), "-I", "-S", _AGENT_INSIDE]
            options = _options(spec, python, size, self._files())
            started = await _start(spec, options, agent, groups)
        except BaseException:
            await groups.remove()
            raise
        facts = {**_promises(spec, python, size), **_limits(groups)}
        sandbox = BubblewrapSandbox(
            started.process, started.control, groups, _variables(spec), facts
        )
        try:
            if started.listener is not None:
                sandbox.serving.callback((await serve_proxy(started.listener, spec)).close)
            if spec.network == INTERNET:
                uplink = await connect_filtered(started.pid_inside)
                sandbox.serving.push_async_callback(uplink.end)
        except BaseException:
            await sandbox.end()
            raise
        return sandbox

    async def list_tags(self, prefix: str) -> Collection[str]:
        """Only groups outlive their supervisor: processes end with it."""
        return sorted(list_cgroups(prefix))

    async def remove(self, tag: str) -> None:
        """As `SandboxProvider.remove`."""
        await remove_cgroups(list_cgroups(tag).get(tag, []))


def _require_program() -> str:
    found = shutil.which("bwrap") if sys.platform == "linux" else None
    if found is None:
        where = "install it (`apt install bubblewrap`)" if sys.platform == "linux" else None
        raise UsageError(
            "Sandboxes of this machine need bubblewrap, which it does not have",
            hint=where or "it exists only on Linux: start Podman or Docker instead",
        )
    return found


@dataclass(frozen=True)
class _Started:
    """Bubblewrap's own process, and the first one inside.

    `control` is our end of the agent's socket, `listener` what its proxy has inside.
    """

    process: asyncio.subprocess.Process
    pid_inside: int
    control: socket.socket
    listener: socket.socket | None


async def _start(
    spec: SandboxSpec, options: Sequence[str], agent: Sequence[str], groups: Cgroups
) -> _Started:
    """Raises EnvironmentFailed with what bubblewrap says."""
    if sys.platform == "win32":
        raise EnvironmentFailed("bubblewrap exists only on Linux")
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setblocking(False)  # noqa: FBT003 - its only form
    port = PROXY_PORT if spec.network == PACKAGES else 0
    # Not asyncio's: what is inside has the other end, and could keep the process from being waited
    # for by filling it. Nobody reads it once the sandbox runs.
    said, saying = os.pipe()
    # Nor are the options arguments, which can be read inside and name folders of this machine.
    opened = [("--args", _in_memory(b"".join(each.encode() + b"\0" for each in options)))]
    if program := system_call_filter():
        opened.append(("--seccomp", _in_memory(program)))
    known, telling = os.pipe()
    opened.append(("--info-fd", telling))
    with theirs, os.fdopen(said, "rb", 0) as stderr, os.fdopen(known, "rb", 0) as info:
        try:
            process = await asyncio.create_subprocess_exec(
                _require_program(),
                *(word for option, fd in opened for word in (option, str(fd))),
                *("--", *agent),
                *map(str, (theirs.fileno(), spec.stop_at, port)),
                pass_fds=[theirs.fileno(), *(fd for _, fd in opened)],
                env={},
                preexec_fn=groups.enter,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=saying,
            )
        except BaseException:
            ours.close()
            raise
        finally:
            for fd in (saying, *(fd for _, fd in opened)):
                os.close(fd)
        theirs.close()
        listener: socket.socket | None = None
        try:
            async with asyncio.timeout(_UP_SECONDS):
                fds = await _greeting(ours)
            # Written before the agent was started.
            told = msgspec.json.decode(info.read(_STDERR), type=_Info)
            if port:
                listener = _listener(fds)
        except (OSError, TimeoutError, EnvironmentFailed, msgspec.DecodeError) as error:
            await _give_up(process, ours)
            why = _last_line(stderr) or error
            raise EnvironmentFailed(f"bubblewrap did not start a sandbox: {why}") from error
        except BaseException:
            await _give_up(process, ours)
            raise
    return _Started(process, told.child_pid, ours, listener)


class _Info(msgspec.Struct, rename="kebab"):
    child_pid: int


def _in_memory(content: bytes) -> int:
    """A descriptor from which `content` is read."""
    if sys.platform != "linux":
        raise EnvironmentFailed("bubblewrap exists only on Linux")
    fd = os.memfd_create("bwrap")
    os.write(fd, content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


async def _give_up(process: asyncio.subprocess.Process, control: socket.socket) -> None:
    control.close()
    with suppress(ProcessLookupError):
        process.kill()
    await process.wait()


async def _greeting(control: socket.socket) -> list[int]:
    """The descriptors that come with the agent's first words; raises EnvironmentFailed."""
    if sys.platform == "win32":
        return []
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(control, _settle, ready)
    try:
        await ready
    finally:
        loop.remove_reader(control)
    data, fds, _, _ = socket.recv_fds(control, 4096, 1)
    if not data:
        raise EnvironmentFailed("its agent ended at once")
    return fds


def _settle(ready: "asyncio.Future[None]") -> None:
    if not ready.done():
        ready.set_result(None)


def _listener(fds: Sequence[int]) -> socket.socket:
    """The socket that the agent sent, which was started by us but runs beside strangers."""
    if len(fds) != 1:
        raise EnvironmentFailed("its agent sent no socket")
    listener = socket.socket(fileno=fds[0])
    if listener.family != socket.AF_INET or listener.type != socket.SOCK_STREAM:
        listener.close()
        raise EnvironmentFailed("its agent sent no socket that listens")
    listener.setblocking(False)  # noqa: FBT003 - its only form
    return listener


def _last_line(stderr: FileIO) -> str:
    if sys.platform == "win32":
        return ""
    os.set_blocking(stderr.fileno(), False)
    said = stderr.read(_STDERR) or b""
    lines = said.decode(errors="replace").strip().splitlines()
    return lines[-1][:500] if lines else ""


def _options(spec: SandboxSpec, python: StandIn, size: int, folder: Path) -> list[str]:
    words = [*_ISOLATION, "--hostname", spec.id[:12]]
    shared = min(_MOST_SHARED, size // 4)
    words += ["--size", str(size - shared), "--tmpfs", "/"]
    # Not /usr as a whole: /usr/local is to be in the same memory, which has a size.
    for path in (*_parts_of_usr(), *SYSTEM):
        if path != "/usr":
            words += ["--ro-bind-try", path, path]
    words += ["--dir", "/usr/local/bin", "--proc", "/proc"]
    # What root of the machine owns there is root's to write, also without a capability.
    words += ["--ro-bind", "/proc/sys", "/proc/sys", *cover_proc(), "--dev", "/dev"]
    words += ["--size", str(shared), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]  # noqa: S108
    for place in ("/tmp", "/var/tmp"):  # noqa: S108 - of the sandbox
        words += ["--perms", "1777", "--dir", place]
    words += ["--dir", "/root", "--dir", "/workspace", "--ro-bind", str(_AGENT), _AGENT_INSIDE]
    if python.folder is not None:
        words += ["--ro-bind", str(python.folder), str(python.folder)]
    for name in ("python", "python3", f"python{python.minor}"):
        words += ["--symlink", str(python.python), f"/usr/local/bin/{name}"]
    for name in ("pip", "pip3"):
        if (target := python.python.with_name(name)).exists():
            words += ["--symlink", str(target), f"/usr/local/bin/{name}"]
    for name in _FILES:
        words += ["--ro-bind", str(folder / name), f"/etc/{name}"]
    for path in spec.folders:
        words += ["--ro-bind-try", path, path]
    return [*words, "--chdir", "/root"]


def _parts_of_usr() -> list[str]:
    return sorted(str(each) for each in Path("/usr").iterdir() if each.name != "local")


_FILES = {
    "resolv.conf": f"nameserver {NAME_SERVER}\n",
    "passwd": "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
    "group": "root:x:0:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
"""What is in /etc besides the system's certificates; nothing of the machine's users."""


def _variables(spec: SandboxSpec) -> dict[str, str]:
    given = {
        "PATH": "/root/.local/bin:/usr/local/bin:/usr/bin:/bin",
        "HOME": "/root",
        "LANG": "C.UTF-8",
        "PIP_BREAK_SYSTEM_PACKAGES": "1",
        "PIP_ROOT_USER_ACTION": "ignore",
        "PYTHONUSERBASE": "/root/.local",
    }
    if spec.network == PACKAGES:
        given |= proxy_variables()
    return given | spec.variables


def _promises(spec: SandboxSpec, python: StandIn, size: int) -> dict[str, str]:
    """What holds by the way it was started."""
    network = {
        PACKAGES: f"{', '.join(spec.reached) or 'no host'}, through a proxy",
        INTERNET: INTERNET_FACT,
        NONE: "none",
    }
    return {
        "provider": BUBBLEWRAP,
        "image": python.sentence,
        "files": "its own root in memory; this system's /usr, read-only",
        "disk": f"{format_bytes(size)} in memory",
        "network": network.get(spec.network, spec.network),
        "kernel": "this machine's, "
        + ("with fewer system calls" if system_call_filter() else "with all system calls"),
    }


_LIMITED = ("memory", "swap", "cpu", "processes")


def _limits(groups: Cgroups) -> dict[str, str]:
    """What the system holds, and does not; read back from it."""
    found = dict.fromkeys(_LIMITED, "not limited: this system lets us hold none")
    if namespace_bounds_processes():
        found["processes"] = f"at most {PROCESSES}, by RLIMIT_NPROC"
    return found | dict(groups.facts)


def open_provider(context: SandboxContext) -> BubblewrapProvider:
    """The provider, which needs no options."""
    return BubblewrapProvider(context.folder / BUBBLEWRAP)
