"""Isolate processes that run others' code, with bubblewrap if the system has it.

Inside a Sandbox is a read-only system, an interpreter, an empty home and an empty /tmp. There is no
network, no other visible process, no capability, no keyring, and no file of the user's.

A NetworkNamespace shares everything with this machine except the network, where it has only its own
loopback. It keeps honest code to the gateway, whatever opens the connection, but does not stop
hostile code, which can still read and write the user's files.
"""

import platform
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from prime_cli.core.errors import UsageError
from prime_cli.core.process import TimedOut, run
from prime_cli.runtime.isolation.bubblewrap import (
    SYSTEM,
    Wrapped,
    cover_proc,
    find_bubblewrap,
    namespace_options,
    system_call_filter,
    wrap,
)
from prime_cli.runtime.layers import base_of, below_of
from prime_cli.runtime.variables import without_network

_NOBODY = 65534
HOME = "/tmp/home"  # noqa: S108 - of the sandbox's own, which is empty
GATEWAY = Path("/run/prime/gateway.sock")
"""The path of the gateway's socket inside."""
DATA = Path("/run/prime/data")
"""The path of data sets inside, kept between runs."""

_NETWORK = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/gai.conf")
_WORKER = Path(__file__).parents[1] / "worker"
_OF_PYTHON = ("bin/python*", "lib/python*", "lib64/python*", "lib/libpython*", "lib64/libpython*")
"""What belongs to a Python whose folder also contains other things."""

# Folders of the user that do not exist inside, and paths that are meaningless there.
_LEFT_OUT = frozenset(
    "TMPDIR TEMP TMP UV_CACHE_DIR XDG_CONFIG_HOME XDG_DATA_HOME SHELL "
    "HF_HUB_CACHE HF_DATASETS_CACHE NLTK_DATA".split()
)

_FOLDERS = (
    f"--proc /proc --dev /dev --tmpfs /tmp --dir {HOME} --tmpfs /run --dir {GATEWAY.parent}"
).split()

_PROBE_SECONDS = 30


@dataclass(frozen=True)
class NamespaceSandbox:
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

    def with_socket(self, socket: Path) -> "NamespaceSandbox":
        """The same, with access to the gateway."""
        return replace(self, socket=socket)

    def wrap(self, command: Sequence[str]) -> AbstractContextManager[Wrapped]:
        """`command`, whose first word is a Python in a virtual environment, run inside.

        It is to be started once, within the context.
        """
        words = []
        for folder in (*_interpreter_folders(Path(command[0])), _WORKER, *self.readable):
            words += ["--ro-bind", str(folder), str(folder)]
        words += ["--bind", str(self.data), str(DATA)]
        if self.socket is not None:
            words += ["--ro-bind", str(self.socket), str(GATEWAY)]
        return self._wrap([*words, "--chdir", HOME], command)

    def wrap_system_program(self, command: Sequence[str]) -> AbstractContextManager[Wrapped]:
        """`command`, a system program, run inside: no interpreter, no data, no gateway."""
        return self._wrap([], command)

    def variables(self, env: Mapping[str, str]) -> dict[str, str]:
        """`env` without what points to places missing inside."""
        kept = {name: value for name, value in env.items() if name not in _LEFT_OUT}
        own = {"HOME": HOME, "HF_HOME": str(DATA), "XDG_CACHE_HOME": str(DATA)}
        return (kept if self.network else without_network(kept)) | own

    def _wrap(
        self, options: Sequence[str], command: Sequence[str]
    ) -> AbstractContextManager[Wrapped]:
        words = [*namespace_options(_NOBODY, "sandbox"), *_FOLDERS, *cover_proc()]
        if self.network:
            words.append("--share-net")
        for path in (*SYSTEM, *(_NETWORK if self.network else ())):
            words += ["--ro-bind-try", path, path]
        return wrap(str(self.program), [*words, *options], command)


def find_sandbox(data: Path, *, network: bool) -> NamespaceSandbox:
    """A Sandbox verified to work on this system; `data` is an existing folder.

    Raises UsageError if bubblewrap is missing, the system does not let it create namespaces, or its
    system calls cannot be filtered.
    """
    found = find_bubblewrap()
    if found is None:
        where = "install bubblewrap (`apt install bubblewrap`)" if sys.platform == "linux" else None
        raise UsageError(
            "`--sandbox` needs bubblewrap, which this system does not have",
            hint=where or "it exists only on Linux: use a virtual machine or a container",
        )
    if system_call_filter() is None:
        raise UsageError(
            f"`--sandbox` does not work on {platform.machine()}: it cannot filter system calls",
            hint="use a virtual machine or a container",
        )
    sandbox = NamespaceSandbox(Path(found), data, network=network)
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

    def wrap(self, command: Sequence[str]) -> AbstractContextManager[Wrapped]:
        """`command` without a network."""
        return nullcontext(Wrapped([str(self.program), *_WORDS, *command]))

    def variables(self, env: Mapping[str, str]) -> dict[str, str]:
        """`env` without what leads to a network."""
        return without_network(env)


def find_namespace() -> tuple[NetworkNamespace | None, str]:
    """One verified to work on this system; else None, and why there is none."""
    found = find_bubblewrap()
    if found is None:
        return None, "bubblewrap is not installed"
    namespace = NetworkNamespace(Path(found))
    with namespace.wrap(["/usr/bin/env", "true"]) as wrapped:
        refusal = try_program(wrapped)
    return (namespace, "") if refusal is None else (None, refusal)
