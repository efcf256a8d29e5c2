"""Bubblewrap's options for a sandbox: a root in memory of exact size, and this system's /usr."""

from pathlib import Path

from prime_cli.core.paths import make_folder, write_atomically
from prime_cli.hub.sandboxes.bubblewrap.pythons import StandIn
from prime_cli.hub.sandboxes.internet import NAME_SERVER
from prime_cli.hub.sandboxes.provider import SandboxSpec
from prime_cli.runtime.sandbox import SYSTEM, cover_proc

AGENT_INSIDE = "/run/prime/agent.py"

_AGENT = Path(__file__).with_name("agent.py")
_MOST_SHARED = 64 * 2**20
"""Bytes of /dev/shm, as containers have."""

_ISOLATION = (
    "--unshare-all --unshare-user --disable-userns --uid 0 --gid 0 --cap-drop ALL --new-session"
    " --die-with-parent"
).split()

_ETC = {
    "resolv.conf": f"nameserver {NAME_SERVER}\n",
    "passwd": "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
    "group": "root:x:0:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
"""What is in /etc besides the system's certificates; nothing of the machine's users."""


def write_etc(folder: Path) -> Path:
    """Write the files of /etc, which all sandboxes share, unless they are in `folder`."""
    make_folder(folder)
    for name, text in _ETC.items():
        if not (folder / name).exists():
            write_atomically(folder / name, text.encode())
    return folder


def isolation_options(spec: SandboxSpec, python: StandIn, size: int, etc: Path) -> list[str]:
    """Bubblewrap's options for a root of `size` bytes, with the files of the folder `etc`."""
    shared = min(_MOST_SHARED, size // 4)
    words = [*_ISOLATION, "--hostname", spec.id[:12]]
    words += ["--size", str(size - shared), "--tmpfs", "/", *_system_options()]
    words += ["--dir", "/usr/local/bin", "--proc", "/proc"]
    # What root of the machine owns there is root's to write, also without a capability.
    words += ["--ro-bind", "/proc/sys", "/proc/sys", *cover_proc(), "--dev", "/dev"]
    words += ["--size", str(shared), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]  # noqa: S108
    for place in ("/tmp", "/var/tmp"):  # noqa: S108 - of the sandbox
        words += ["--perms", "1777", "--dir", place]
    words += ["--dir", "/root", "--dir", "/workspace", "--ro-bind", str(_AGENT), AGENT_INSIDE]
    words += _python_options(python)
    for name in _ETC:
        words += ["--ro-bind", str(etc / name), f"/etc/{name}"]
    for path in spec.folders:
        words += ["--ro-bind-try", path, path]
    return [*words, "--chdir", "/root"]


def _system_options() -> list[str]:
    """Not /usr as a whole: /usr/local is to be in the same memory, which has a size."""
    parts = sorted(str(each) for each in Path("/usr").iterdir() if each.name != "local")
    paths = [*parts, *(path for path in SYSTEM if path != "/usr")]
    return [word for path in paths for word in ("--ro-bind-try", path, path)]


def _python_options(python: StandIn) -> list[str]:
    words: list[str] = []
    if python.folder is not None:
        words += ["--ro-bind", str(python.folder), str(python.folder)]
    for name in ("python", "python3", f"python{python.minor}"):
        words += ["--symlink", str(python.python), f"/usr/local/bin/{name}"]
    for name in ("pip", "pip3"):
        if (target := python.python.with_name(name)).exists():
            words += ["--symlink", str(target), f"/usr/local/bin/{name}"]
    return words
