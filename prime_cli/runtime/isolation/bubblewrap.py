"""What every sandbox of bubblewrap shares: its program, what of the system is inside, the start,
and the filter of system calls.
"""

import os
import platform
import shutil
import struct
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from prime_cli.core.errors import EnvironmentFailed

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

_NAMESPACES = (
    "--unshare-all --unshare-user --disable-userns --cap-drop ALL --new-session --die-with-parent"
).split()


@dataclass(frozen=True)
class Wrapped:
    """A command to start: its words, and the descriptors that it must inherit."""

    words: list[str]
    pass_fds: tuple[int, ...] = ()


def find_bubblewrap() -> str | None:
    """The path of the program, which exists only on Linux; None if it is not installed."""
    return shutil.which("bwrap") if sys.platform == "linux" else None


def namespace_options(user: int, hostname: str) -> list[str]:
    """Options for new namespaces, and a user without capabilities, even if root runs this."""
    return [*_NAMESPACES, "--uid", str(user), "--gid", str(user), "--hostname", hostname]


def cover_proc() -> list[str]:
    """Options that make /proc read-only.

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


@contextmanager
def wrap(
    program: str,
    options: Sequence[str],
    command: Sequence[str],
    *,
    files: Mapping[str, bytes] | None = None,
    is_hidden: bool = False,
) -> Iterator[Wrapped]:
    """`command`, run by bubblewrap's `program`: to be started once, within the context.

    It has `files` of its own, by path, and the filter of system calls. If `is_hidden`, the options
    are not among the words, which can be read inside and name folders of this machine.
    """
    with ExitStack() as opened:
        fds: list[int] = []

        def inherit(content: bytes) -> str:
            fds.append(_in_memory(content))
            opened.callback(os.close, fds[-1])
            return str(fds[-1])

        words = list(options)
        for path, content in (files or {}).items():
            words += ["--file", inherit(content), path]
        if is_hidden:
            words = ["--args", inherit(os.fsencode("\0".join((*words, ""))))]
        if filtered := system_call_filter():
            words += ["--seccomp", inherit(filtered)]
        yield Wrapped([program, *words, "--", *command], tuple(fds))


def _in_memory(content: bytes) -> int:
    """A descriptor from which `content` is read."""
    if sys.platform != "linux":
        raise EnvironmentFailed("bubblewrap exists only on Linux")
    fd = os.memfd_create("bwrap")
    os.write(fd, content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


# --- The filter of system calls, as `--seccomp` reads it ---
# A list of what is refused, for what namespaces do not separate: keyrings, sockets to a hypervisor,
# typing into a terminal, and parts of the kernel that have had many holes. A default OCI profile
# refuses them too.

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
"""BPF: load a word, jump if equal, jump if greater or equal, return."""
_ALLOW, _NOT_PERMITTED, _NO_SUCH_CALL = 0x7FFF0000, 0x00050001, 0x00050026
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _SECOND_ARGUMENT = 0, 4, 16, 24
"""Offsets in `struct seccomp_data`; of an argument, its lower word."""
_AF_VSOCK = 40
_TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI, and TIOCLINUX, which pastes on a virtual console; the kernel reads the lower word."""
_X32 = 0x40000000

_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7, "riscv64": 0xC00000F3}
_SOCKET, _IOCTL = (41, 198), (16, 29)
_REFUSED = {
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "open_by_handle_at": (304, 265),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
}
"""Numbers on x86_64, and those that newer machines share."""


@cache
def system_call_filter(machine: str | None = None) -> bytes | None:
    """The program in BPF; None on machines whose numbers are not known here."""
    machine = machine or platform.machine()
    if machine not in _AUDIT:
        return None
    column = 0 if machine == "x86_64" else 1
    refused = [numbers[column] for numbers in _REFUSED.values()]
    body = [
        *((_EQUAL, number, "refuse") for number in refused),
        (_EQUAL, _SOCKET[column], "socket"),
        (_EQUAL, _IOCTL[column], "ioctl"),
        (_RETURN, _ALLOW, ""),
        (_LOAD, _FIRST_ARGUMENT, ""),
        (_EQUAL, _AF_VSOCK, "refuse"),
        (_RETURN, _ALLOW, ""),
        (_LOAD, _SECOND_ARGUMENT, ""),
        *((_EQUAL, request, "refuse") for request in _TERMINAL_INPUT),
        (_RETURN, _ALLOW, ""),
        (_RETURN, _NOT_PERMITTED, ""),
    ]
    places = {
        "socket": body.index((_LOAD, _FIRST_ARGUMENT, "")),
        "ioctl": body.index((_LOAD, _SECOND_ARGUMENT, "")),
        "refuse": len(body) - 1,
    }
    words = [
        struct.pack("=HBBI", _LOAD, 0, 0, _ARCHITECTURE),
        struct.pack("=HBBI", _EQUAL, 1, 0, _AUDIT[machine]),
        struct.pack("=HBBI", _RETURN, 0, 0, _NO_SUCH_CALL),
        struct.pack("=HBBI", _LOAD, 0, 0, _NUMBER),
        struct.pack("=HBBI", _AT_LEAST, 0, 1, _X32),
        struct.pack("=HBBI", _RETURN, 0, 0, _NO_SUCH_CALL),
    ]
    for at, (code, value, target) in enumerate(body):
        # Jumps count from the next word.
        jump = places[target] - at - 1 if target else 0
        words.append(struct.pack("=HBBI", code, jump, 0, value))
    return b"".join(words)
