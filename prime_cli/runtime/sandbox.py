"""Isolate processes that run others' code, with bubblewrap if the system has it.

Inside a Sandbox is a read-only system, an interpreter, an empty home and an empty /tmp. There is no
network, no other visible process, no capability, no keyring, and no file of the user's.

A NetworkNamespace shares everything with this machine except the network, where it has only its own
loopback. It keeps honest code to the gateway, whatever opens the connection, but does not stop
hostile code, which can still read and write the user's files.
"""

import os
import platform
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from prime_cli.core.errors import UsageError
from prime_cli.core.process import TimedOut, run
from prime_cli.runtime.layers import base_of, below_of
from prime_cli.runtime.variables import without_network

HOME = "/tmp/home"  # noqa: S108 - of the sandbox's own, which is empty
GATEWAY = Path("/run/prime/gateway.sock")
"""The path of the gateway's socket inside."""
DATA = Path("/run/prime/data")
"""The path of data sets inside, kept between runs."""

SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/etc/alternatives",
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/mime.types",
    # Certificates, without the folders beside them that hold private keys.
    "/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf", "/etc/ca-certificates",
    "/etc/pki/tls/certs", "/etc/pki/tls/cert.pem", "/etc/pki/tls/openssl.cnf", "/etc/pki/ca-trust",
)  # fmt: skip
_MASKED = (
    "/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
    "/proc/sched_debug", "/proc/scsi", "/proc/timer_list", "/proc/timer_stats",
)  # fmt: skip
"""What exposes the machine beyond the process: `maskedPaths` of a default OCI runtime's config."""
_NETWORK = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/gai.conf")
_WORKER = Path(__file__).parent / "worker"
_OF_PYTHON = ("bin/python*", "lib/python*", "lib64/python*", "lib/libpython*", "lib64/libpython*")
"""What belongs to a Python whose folder also contains other things."""

# Folders of the user that do not exist inside, and paths that are meaningless there.
_LEFT_OUT = frozenset(
    "TMPDIR TEMP TMP UV_CACHE_DIR XDG_CONFIG_HOME XDG_DATA_HOME SHELL "
    "HF_HUB_CACHE HF_DATASETS_CACHE NLTK_DATA".split()
)

# A separate user without capabilities, even if root runs this.
_ISOLATION = (
    "--unshare-all --unshare-user --disable-userns --uid 65534 --gid 65534 --cap-drop ALL"
    " --new-session --die-with-parent --hostname sandbox --proc /proc --dev /dev"
    f" --tmpfs /tmp --dir {HOME} --tmpfs /run --dir {GATEWAY.parent}"
)

_PROBE_SECONDS = 30


@dataclass(frozen=True)
class Wrapped:
    """A command to start: its words, and the descriptors that it must inherit."""

    words: list[str]
    pass_fds: tuple[int, ...] = ()


@dataclass(frozen=True)
class Sandbox:
    """How to isolate processes.

    `data` is the one folder that they may write; `readable` are folders that they may read besides
    the system's and the interpreter's; `socket` is the gateway's. With `network` they share this
    machine's.
    """

    program: Path
    data: Path
    network: bool = False
    readable: tuple[Path, ...] = ()
    socket: Path | None = None

    @property
    def gateway_socket(self) -> Path | None:
        """The path of the gateway's socket inside."""
        return None if self.socket is None else GATEWAY

    def with_socket(self, socket: Path) -> "Sandbox":
        """The same, with access to the gateway."""
        return replace(self, socket=socket)

    @contextmanager
    def wrap(self, command: Sequence[str]) -> Iterator[Wrapped]:
        """`command`, whose first word is a Python in a virtual environment, run inside.

        It is to be started once, within the context.
        """
        words = []
        for folder in (*_interpreter_folders(Path(command[0])), _WORKER, *self.readable):
            words += ["--ro-bind", str(folder), str(folder)]
        words += ["--bind", str(self.data), str(DATA)]
        if self.socket is not None:
            words += ["--ro-bind", str(self.socket), str(GATEWAY)]
        with self._bwrap([*words, "--chdir", HOME], command) as wrapped:
            yield wrapped

    @contextmanager
    def wrap_system_program(self, command: Sequence[str]) -> Iterator[Wrapped]:
        """`command`, a system program, run inside: no interpreter, no data, no gateway."""
        with self._bwrap([], command) as wrapped:
            yield wrapped

    def variables(self, env: Mapping[str, str]) -> dict[str, str]:
        """`env` without what points to places missing inside."""
        kept = {name: value for name, value in env.items() if name not in _LEFT_OUT}
        own = {"HOME": HOME, "HF_HOME": str(DATA), "XDG_CACHE_HOME": str(DATA)}
        return (kept if self.network else without_network(kept)) | own

    @contextmanager
    def _bwrap(self, options: Sequence[str], command: Sequence[str]) -> Iterator[Wrapped]:
        from prime_cli.runtime.system_calls import open_filter

        words = [str(self.program), *_ISOLATION.split(), *cover_proc()]
        if self.network:
            words.append("--share-net")
        for path in (*SYSTEM, *(_NETWORK if self.network else ())):
            words += ["--ro-bind-try", path, path]
        with open_filter() as fds:
            words += [word for fd in fds for word in ("--seccomp", str(fd))]
            yield Wrapped([*words, *options, "--", *command], fds)


def find_sandbox(data: Path, *, network: bool) -> Sandbox:
    """A Sandbox verified to work on this system; `data` is an existing folder.

    Raises UsageError if bubblewrap is missing, the system does not let it create namespaces, or its
    system calls cannot be filtered.
    """
    found = shutil.which("bwrap")
    if found is None or sys.platform != "linux":
        where = "install bubblewrap (`apt install bubblewrap`)" if sys.platform == "linux" else None
        raise UsageError(
            "`--sandbox` needs bubblewrap, which this system does not have",
            hint=where or "it exists only on Linux: use a virtual machine or a container",
        )
    from prime_cli.runtime.system_calls import system_call_filter

    if system_call_filter() is None:
        raise UsageError(
            f"`--sandbox` does not work on {platform.machine()}: it cannot filter system calls",
            hint="use a virtual machine or a container",
        )
    sandbox = Sandbox(Path(found), data, network=network)
    with sandbox.wrap_system_program(["/usr/bin/env", "true"]) as wrapped:
        refusal = try_program(wrapped)
    if refusal is not None:
        raise UsageError(
            f"`--sandbox` does not work on this system: {refusal}",
            hint="allow unprivileged user namespaces, or use a virtual machine",
        )
    return sandbox


def try_program(wrapped: Wrapped) -> str | None:
    """Why bubblewrap cannot run a command that does nothing; None if it can."""
    try:
        completed = run(wrapped.words, timeout=_PROBE_SECONDS, pass_fds=wrapped.pass_fds)
    except TimedOut:
        return f"bubblewrap did not answer within {_PROBE_SECONDS} s"
    return None if completed.ok else completed.last_lines(1) or f"exit code {completed.code}"


def cover_proc() -> list[str]:
    """Words that make /proc read-only.

    The kernel lets uid 0 of the machine write /proc/sys from within too:
    bubblewrap skips its own covers of /proc/sys if the folder itself is not writable, as for root
    without capabilities, even though the files in it may be.
    """
    words: list[str] = []
    for path in filter(os.path.exists, _MASKED):
        if Path(path).is_dir():
            words += ["--tmpfs", path, "--remount-ro", path]
        else:
            words += ["--ro-bind", os.devnull, path]
    return [*words, "--remount-ro", "/proc"]


def _interpreter_folders(python: Path) -> list[Path]:
    """The virtual environment of `python`, the layer below it, and the Python that made them."""
    venv = python.parent.parent
    found = [venv, *(part for folder in base_of(venv) for part in parts_of_python(folder))]
    below = below_of(venv)
    return found if below is None else [*found, below]


def parts_of_python(folder: Path) -> list[Path]:
    """`folder` if it is a Python's own; for one such as ~/.local, what belongs to the Python."""
    user = Path.home()
    has_more = folder == user / ".local" or user.is_relative_to(folder)
    if not has_more and any(folder.glob("lib*/python3*/os.py")):
        return [folder]
    return sorted(part for pattern in _OF_PYTHON for part in folder.glob(pattern))


_WORDS = "--dev-bind / / --unshare-net --die-with-parent --".split()


@dataclass(frozen=True)
class NetworkNamespace:
    """How to keep processes off the network; `socket` is the gateway's."""

    program: Path
    socket: Path | None = None

    @property
    def gateway_socket(self) -> Path | None:
        """The path of the gateway's socket inside, which is unchanged."""
        return self.socket

    def with_socket(self, socket: Path) -> "NetworkNamespace":
        """The same, with access to the gateway."""
        return replace(self, socket=socket)

    @contextmanager
    def wrap(self, command: Sequence[str]) -> Iterator[Wrapped]:
        """`command` without a network."""
        yield Wrapped([str(self.program), *_WORDS, *command])

    def variables(self, env: Mapping[str, str]) -> dict[str, str]:
        """`env` without what leads to a network."""
        return without_network(env)


def find_namespace() -> tuple[NetworkNamespace | None, str]:
    """One verified to work on this system; else None, and why there is none."""
    found = shutil.which("bwrap")
    if found is None or sys.platform != "linux":
        return None, "bubblewrap is not installed"
    namespace = NetworkNamespace(Path(found))
    with namespace.wrap(["/usr/bin/env", "true"]) as wrapped:
        refusal = try_program(wrapped)
    return (namespace, "") if refusal is None else (None, refusal)
