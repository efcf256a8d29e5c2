"""Supervisors: processes of ours that outlive the command or hub that starts them."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from prime_cli.core.errors import StorageFailed
from prime_cli.core.paths import open_descriptor, storage_errors

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SAID = 20


def start_supervisor(
    what: str,
    program: Path,
    folder: Path,
    lock: int,
    *,
    log: Path,
    environ: Mapping[str, str],
    seconds: float,
    within: Sequence[str] = (),
) -> None:
    """Run `program` with its folder and the descriptor of its lock, until it has detached itself.

    `within` are the words of a program that starts it in its own place.
    It gets `environ` and nothing of our environment, which contains keys; what it says is added to
    `log`. Our end of the lock is closed. Raises StorageFailed, which names `what` it supervises.
    """
    argv = [*within, sys.executable, "-I", "-X", "utf8", str(program), str(folder), str(lock)]
    try:
        with storage_errors(log):
            descriptor = open_descriptor(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        with os.fdopen(descriptor, "ab") as output:
            subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd="/",
                env=dict(environ),
                pass_fds=[lock],
                timeout=seconds,
                check=True,
            )
    except (OSError, subprocess.SubprocessError) as error:
        raise StorageFailed(
            f"The supervisor of {what} cannot be started: {error}",
            detail=last_lines(log, _SAID) or None,
        ) from error
    finally:
        os.close(lock)


def detach(lock: str) -> None:
    """Continue in the background, with the lock, while whoever started this process sees it end."""
    if sys.platform == "win32" or os.fork():
        os._exit(0)
    os.setsid()
    os.umask(0o077)
    os.set_inheritable(int(lock), False)  # noqa: FBT003 - its only form


def last_lines(path: Path, count: int) -> str:
    """The last `count` lines of a log; empty if it is missing."""
    with suppress(OSError):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-count:]) if count > 0 else ""
    return ""
