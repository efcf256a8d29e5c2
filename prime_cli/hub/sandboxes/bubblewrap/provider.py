"""Sandboxes of bubblewrap: a root in memory of exact size, this system's /usr, and one Python.

After each mount bubblewrap reads the table of all mounts, which is most of its time: so what can be
a link or a file of the sandbox's own is one.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from stat import S_ISREG

from prime_cli.core.formatting import format_bytes, join_words
from prime_cli.hub.sandboxes.bubblewrap.launch import launch, require_bubblewrap
from prime_cli.hub.sandboxes.bubblewrap.process import BubblewrapSandbox
from prime_cli.hub.sandboxes.bubblewrap.pythons import (
    StandIn,
    agent_python,
    compiled,
    stand_in,
)
from prime_cli.hub.sandboxes.internet import NAME_SERVER, require_internet
from prime_cli.hub.sandboxes.network import describe_network
from prime_cli.hub.sandboxes.provider import SandboxSpec
from prime_cli.hub.sandboxes.registry import SandboxContext
from prime_cli.runtime.isolation.bubblewrap import (
    SYSTEM,
    cover_proc,
    namespace_options,
    system_call_filter,
)
from prime_cli.runtime.isolation.cgroups import (
    PROCESSES,
    Cgroups,
    list_cgroups,
    make_cgroups,
    namespace_bounds_processes,
    remove_cgroups,
)
from prime_cli.wire.sandboxes import INTERNET

_AGENT_INSIDE = "/run/prime/agent.pyc"

_MOST_SHARED = 64 * 2**20
"""Bytes of /dev/shm, as containers have."""

_ETC = {
    "/etc/resolv.conf": f"nameserver {NAME_SERVER}\n".encode(),
    "/etc/passwd": b"root:x:0:0:root:/root:/bin/bash\n"
    b"nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
    "/etc/group": b"root:x:0:\nnogroup:x:65534:\n",
    "/etc/hosts": b"127.0.0.1 localhost\n",
    "/etc/nsswitch.conf": b"passwd: files\ngroup: files\nhosts: files dns\n",
}
"""What is in /etc besides the system's certificates; nothing of the machine's users."""

_MOST_COPIED = 16 * 1024
"""Bytes of a file that a sandbox has a copy of: each takes memory of its own."""
_AGENT = Path(__file__).with_name("agent.py")


def _isolation_options(spec: SandboxSpec, python: StandIn, size: int) -> list[str]:
    """Bubblewrap's options for a root of `size` bytes, without the files that are written there."""
    shared = min(_MOST_SHARED, size // 4)
    words = namespace_options(0, spec.id[:12])
    words += ["--size", str(size - shared), "--tmpfs", "/", *shown_system().options]
    words += ["--dir", "/usr/local/bin", *_proc_options(), "--dev", "/dev"]
    words += ["--size", str(shared), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]  # noqa: S108
    for place in ("/tmp", "/var/tmp"):  # noqa: S108 - of the sandbox
        words += ["--perms", "1777", "--dir", place]
    words += ["--dir", "/root", "--dir", "/workspace", *_python_options(python)]
    for path in spec.folders:
        words += ["--ro-bind-try", path, path]
    return [*words, "--chdir", "/root"]


@dataclass(frozen=True)
class System:
    """What is shown of this machine: bubblewrap's options, and files that are copied."""

    options: Sequence[str]
    files: Mapping[str, bytes]


@cache
def shown_system() -> System:
    """Not /usr as a whole: /usr/local is to be in the same memory, which has a size."""
    parts = sorted(each for each in Path("/usr").iterdir() if each.name != "local")
    shown = [_shown_path(each) for each in (*parts, *map(Path, SYSTEM)) if str(each) != "/usr"]
    options = [word for each in shown for word in each.options]
    return System(options, {path: each.files[path] for each in shown for path in each.files})


def _shown_path(path: Path) -> System:
    """What shows a path of this machine inside, also if it is gone by then.

    A link stays one if what it leads to is shown as well: certificates may be in /var.
    """
    if path.is_symlink() and any(path.resolve().is_relative_to(each) for each in SYSTEM):
        return _link(path)
    if not path.exists():
        return System([], {})
    return _copied(path) or System(["--ro-bind-try", str(path), str(path)], {})


def _link(path: Path) -> System:
    return System(["--symlink", str(path.readlink()), str(path)], {})


def _copied(path: Path) -> System | None:
    """A small file, or a folder with at most one thing in it; None for what is more.

    Bubblewrap is faster at making two of these than at a mount.
    """
    try:
        if not path.is_dir():
            return _copied_file(path)
        inside = list(path.iterdir())
        if not inside:
            return System(["--dir", str(path)], {})
        only = inside[0]
        if len(inside) > 1 or (only.is_dir() and not only.is_symlink()):
            return None
        return _link(only) if only.is_symlink() else _copied_file(only)
    except OSError:
        return None


def _copied_file(path: Path) -> System | None:
    found = path.stat()
    if not S_ISREG(found.st_mode) or found.st_mode & 0o111 or found.st_size > _MOST_COPIED:
        return None
    return System([], {str(path): path.read_bytes()})


@cache
def _proc_options() -> Sequence[str]:
    # What root of the machine owns there is root's to write, also without a capability.
    return ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", *cover_proc()]


@cache
def _python_options(python: StandIn) -> Sequence[str]:
    words: list[str] = []
    for part in python.parts:
        words += ["--ro-bind", str(part), str(part)]
    for name in ("python", "python3", f"python{python.minor}"):
        words += ["--symlink", str(python.python), f"/usr/local/bin/{name}"]
    for name in ("pip", "pip3"):
        if (target := python.python.with_name(name)).exists():
            words += ["--symlink", str(target), f"/usr/local/bin/{name}"]
    return words


class BubblewrapProvider:
    """Makes sandboxes as children of this process, which end with it."""

    name = "bubblewrap"

    async def check(self, spec: SandboxSpec, *, may_fetch: bool) -> tuple[str, ...]:
        """As `SandboxProvider.check`."""
        del may_fetch  # there are no images
        require_bubblewrap()
        if spec.network == INTERNET:
            require_internet()
        return ((await stand_in(spec.image)).sentence,)

    async def create(self, spec: SandboxSpec) -> BubblewrapSandbox:
        """As `SandboxProvider.create`."""
        python = await stand_in(spec.image)
        groups = make_cgroups(spec)
        size = int(min(spec.disk_size_gb * 10**9, spec.memory / 2))
        try:
            program = await compiled(_AGENT, agent_python(python.python), python.python)
            agent = [str(program.python), "-I", "-S", _AGENT_INSIDE]
            files = {_AGENT_INSIDE: program.content, **shown_system().files, **_ETC}
            options = _isolation_options(spec, python, size)
            started = await launch(spec, options, files, agent, groups)
        except BaseException:
            await groups.remove()
            raise
        facts = {**_promises(spec, python, size), **_limits(groups)}
        sandbox = BubblewrapSandbox(spec, started, groups, facts)
        try:
            await sandbox.network.apply(spec, started.listener)
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


def _promises(spec: SandboxSpec, python: StandIn, size: int) -> dict[str, str]:
    """What holds by the way it was started."""
    return {
        "provider": BubblewrapProvider.name,
        "image": python.sentence,
        "files": f"its own root in memory; read-only from this system: {_shown(spec, python)}",
        "disk": f"{format_bytes(size)} in memory",
        "network": describe_network(spec),
        "kernel": "this machine's, "
        + ("with fewer system calls" if system_call_filter() else "with all system calls"),
    }


def _shown(spec: SandboxSpec, python: StandIn) -> str:
    """What can be read inside of this system, in words."""
    places = [*map(str, python.parts), *spec.folders]
    return join_words(["/usr but for /usr/local", "certificates", *places])


_LIMITED = ("memory", "swap", "cpu", "processes")


def _limits(groups: Cgroups) -> dict[str, str]:
    """What the system holds, and does not; read back from it."""
    found = dict.fromkeys(_LIMITED, "not limited: this system lets us hold none")
    if namespace_bounds_processes():
        found["processes"] = f"at most {PROCESSES}, by RLIMIT_NPROC"
    return found | dict(groups.facts)


def open_provider(context: SandboxContext) -> BubblewrapProvider:
    """The provider, which needs no options and keeps no files."""
    del context
    return BubblewrapProvider()
