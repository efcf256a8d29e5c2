"""Run a command in a pod: its words arrive as they were typed, and its exit code is ours."""

import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from prime_cli.core.errors import UsageError
from prime_cli.core.process import child_environment
from prime_cli.pods.ssh.probe import SSH_FAILED, Probe, ProbeAnswer, probe_error, read_failure
from prime_cli.pods.ssh.routes import SshRoute, command_options


def replace_process(argv: Sequence[str]) -> NoReturn:
    """Let ssh go on in our place, with our terminal, and end with its exit code.

    On POSIX this process turns into it, so that signals and the terminal are its own. Keys of hubs
    and models are not in its variables.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    if sys.platform == "win32":
        sys.exit(run_attached(argv))
    # Python ignores SIGPIPE, and what is ignored would stay so.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.execve(argv[0], list(argv), child_environment())  # noqa: S606 no shell is wanted


def run_attached(argv: Sequence[str]) -> int:
    """Run a program that has our terminal, stdin, stdout and stderr; its exit code.

    Ctrl-C goes to it as well as to us: KeyboardInterrupt is raised once it has ended of that.
    """
    process = subprocess.Popen(list(argv), env=child_environment())
    try:
        return process.wait()
    except KeyboardInterrupt:
        process.wait()
        raise
    except BaseException:
        process.terminate()
        process.wait()
        raise


_NOTING = ("-o", "LogLevel=DEBUG1")
_ASIDES = ("debug1:", "OpenSSH_", "Authenticated to", "Transferred:", "Bytes per second:")


def remote_line(words: Sequence[str]) -> str:
    """A line that a POSIX shell splits into exactly `words`, and runs the first of them.

    The first is always quoted: bare, `if`, `time` or `A=b` would mean something to the shell.
    Raises UsageError for what cannot be sent.
    """
    if not words:
        raise UsageError("No command was given", hint="put it after `--`")
    if any("\0" in word for word in words):
        raise UsageError("A command argument cannot contain a NUL")
    first = "'" + words[0].replace("'", "'\"'\"'") + "'"
    return " ".join([first, *map(shlex.quote, words[1:])])


@dataclass(frozen=True)
class ExecResult:
    """How a command ended: its exit code, and whether a signal ended it (then 255)."""

    code: int
    by_signal: bool = False


def run_command(route: SshRoute, words: Sequence[str], *, tty: bool = False) -> ExecResult:
    """Run a command in a pod with our stdin, stdout and stderr.

    255 is also what ssh ends with when it fails itself. What it notes meanwhile goes to a file of
    its own, and tells whether the pod has sent an exit code (RFC 4254, section 6.10). Raises
    Unreachable, or what else `read_failure` makes of the notes, where it has not.
    """
    line = remote_line(words)
    with tempfile.TemporaryDirectory(prefix="prime-ssh-") as folder:
        notes = Path(folder) / "notes"
        options = ["-tt" if tty else "-T", "-E", str(notes), *_NOTING, *command_options()]
        code = run_attached([*route.ssh(*options), line])
        text = notes.read_text(encoding="utf-8", errors="replace") if notes.is_file() else ""
    if code != SSH_FAILED or "rtype exit-status" in text:
        return ExecResult(code if code >= 0 else 128 - code)
    if "rtype exit-signal" in text:
        return ExecResult(code, by_signal=True)
    raise probe_error(route, _lost(read_failure(_ssh_messages(text))))


def _ssh_messages(notes: str) -> str:
    """What ssh tells people, of all that it notes."""
    return "\n".join(line for line in notes.splitlines() if not line.startswith(_ASIDES))


def _lost(seen: Probe) -> Probe:
    """It was let in a moment ago: what is not known is a connection that broke."""
    return Probe(ProbeAnswer.SILENT, seen.stderr) if seen.answer == ProbeAnswer.BROKEN else seen
