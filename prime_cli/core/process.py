"""Subprocesses: run by argument list, never through a shell, and never left behind."""

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from prime_cli.core.errors import StorageFailed
from prime_cli.core.network import without_proxy_here
from prime_cli.core.secret_detection import INDEX_PREFIXES, without_secrets


@dataclass(frozen=True)
class Completed:
    """How a program ended: its exit code (negative: the signal that ended it) and its output."""

    code: int
    out: str
    err: str

    @property
    def ok(self) -> bool:
        return self.code == 0

    def last_lines(self, count: int = 20) -> str:
        """The last lines of the program's stderr, or of its stdout if that is empty."""
        return "\n".join((self.err.strip() or self.out.strip()).splitlines()[-count:])


class TimedOut(Exception):
    """A program did not end in time and was killed; `partial` is its output so far."""

    def __init__(self, program: str, seconds: float, partial: Completed) -> None:
        super().__init__(f"{program} did not finish within {seconds:g} seconds")
        self.partial = partial


def child_environment(
    environ: Mapping[str, str] | None = None, *, installs: bool = False
) -> dict[str, str]:
    """Our environment variables without credentials, passed to every program we start.

    One that `installs` packages (uv, pip) keeps the credentials of indexes, and reaches this
    machine without a proxy. A program that needs a key gets that one by name.
    """
    environ = os.environ if environ is None else environ
    if installs:
        return without_proxy_here(without_secrets(environ, keep=INDEX_PREFIXES))
    return without_secrets(environ)


def run(
    argv: Sequence[str | os.PathLike[str]],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    input: str | None = None,  # noqa: A002 - the name that subprocess gives it
    watch: Callable[[float, str], None] | None = None,
    pass_fds: Sequence[int] = (),
) -> Completed:
    """Run a program to its end and capture its output, decoded as UTF-8.

    `env` is the whole environment, by default `child_environment()`. The program gets a process
    group of its own, which is killed when it takes longer than `timeout` seconds (TimedOut) or when
    we are interrupted. Every second `watch` is told the seconds so far, and what is on stderr; not
    together with `input` (ValueError). It inherits the descriptors `pass_fds`; on POSIX only.
    Raises FileNotFoundError or PermissionError if it cannot be started.
    """
    if watch is not None and input is not None:
        # communicate() takes input once: in a later second it would refuse it, or lose its rest.
        raise ValueError("`watch` and `input` cannot be combined")
    process = subprocess.Popen(
        [os.fspath(word) for word in argv],
        cwd=cwd,
        env=child_environment() if env is None else dict(env),
        stdin=subprocess.DEVNULL if input is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=sys.platform != "win32",
        pass_fds=tuple(pass_fds),
    )
    try:
        out, err = _communicate(process, input, timeout, watch)
    except subprocess.TimeoutExpired:
        _kill_group(process)
        out, err = process.communicate()
        partial = Completed(process.returncode, out, err)
        raise TimedOut(str(argv[0]), timeout or 0, partial) from None
    except BaseException:
        _kill_group(process)
        process.wait()
        raise
    return Completed(process.returncode, out, err)


def look_with_git(folder: Path, *words: str, timeout: float) -> str | None:
    """What git prints about the repository of `folder`; None without git, or if it fails.

    A mere look takes no lock that a person's git waits for, and starts no monitor of files, which
    is a program that the repository chooses.
    """
    command = ("git", "-c", "core.fsmonitor=false", *words)
    env = child_environment() | {"GIT_OPTIONAL_LOCKS": "0"}
    with suppress(OSError, TimedOut):
        done = run(command, cwd=folder, env=env, timeout=timeout)
        return done.out if done.ok else None
    return None


def _communicate(
    process: "subprocess.Popen[str]",
    given: str | None,
    timeout: float | None,
    watch: Callable[[float, str], None] | None,
) -> tuple[str, str]:
    """As Popen has it, in steps of a second if somebody watches."""
    if watch is None:
        return process.communicate(given, timeout)
    began = time.monotonic()
    while True:
        left = math.inf if timeout is None else began + timeout - time.monotonic()
        try:
            return process.communicate(timeout=max(0.0, min(1.0, left)))
        except subprocess.TimeoutExpired as late:
            if left <= 1.0:
                raise
            # Bytes on POSIX, whatever the mode of the pipes is.
            said: bytes | str = late.stderr or b""
            text = said if isinstance(said, str) else said.decode("utf-8", "replace")
            watch(time.monotonic() - began, text)


def run_attached(
    argv: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> int:
    """Run a program with our terminal, stdin, stdout and stderr; returns its exit code.

    `env` is the whole environment, by default `child_environment()`. Ctrl-C reaches both:
    KeyboardInterrupt is raised once the program has ended.
    """
    process = subprocess.Popen(
        list(argv), cwd=cwd, env=child_environment() if env is None else dict(env)
    )
    try:
        return process.wait()
    except KeyboardInterrupt:
        process.wait()
        raise
    except BaseException:
        process.terminate()
        process.wait()
        raise


def start_detached(argv: Sequence[str | os.PathLike[str]]) -> bool:
    """Start a program in the background, silently and without keys; False if that fails."""
    try:
        subprocess.Popen(
            [os.fspath(word) for word in argv],
            env=child_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=sys.platform != "win32",
        )
    except OSError:
        return False
    return True


def _kill_group(process: "subprocess.Popen[str]") -> None:
    # The group may already be gone, which is fine.
    with suppress(ProcessLookupError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


def remove_tree(path: Path) -> None:
    """Remove a folder entirely, however deep and whatever the modes within.

    Raises StorageFailed. `rm` does not follow links or resolve names twice.
    """
    if not os.path.lexists(path):
        return
    remove = ["rm", "-rf", "--", str(path)]
    done = run(remove)
    if not done.ok and path.is_dir() and sys.platform != "win32" and os.geteuid() != 0:
        # Folders that deny access to their owner.
        run(["chmod", "-R", "u+rwX", "--", path])
        done = run(remove)
    if not done.ok and os.path.lexists(path):
        raise StorageFailed(f"{path} cannot be removed: {done.last_lines(1) or done.code}")
