"""Run a command in a pod: its words arrive as typed, and its exit code is ours."""

import os
import shlex
import signal
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from prime_cli.core.errors import UsageError
from prime_cli.core.process import child_environment, run_attached
from prime_cli.pods.ssh.probe import SSH_FAILED, ProbeAnswer, SshProbe, probe_error, read_failure
from prime_cli.pods.ssh.routes import SshRoute, command_options


def replace_process(argv: Sequence[str]) -> NoReturn:
    """Replace this process by ssh, with our terminal, and exit with its code.

    On POSIX this process becomes ssh, so signals and the terminal are its own. Keys of hubs and
    models are not in its environment.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    if sys.platform == "win32":
        sys.exit(run_attached(argv))
    # Python ignores SIGPIPE, and children would inherit that.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.execve(argv[0], list(argv), child_environment())  # noqa: S606 no shell is wanted


_NOTING = ("-o", "LogLevel=DEBUG1")
_ASIDES = ("debug1:", "OpenSSH_", "Authenticated to", "Transferred:", "Bytes per second:")


def remote_line(words: Sequence[str]) -> str:
    """A line that a POSIX shell splits into exactly `words`, and runs as a command.

    The first word is always quoted: bare, `if`, `time` or `A=b` would mean something to the shell.
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

    255 is also ssh's code for its own failures. Its log goes to a separate file, which shows
    whether the pod sent an exit code (RFC 4254, section 6.10). If not, raises Unreachable, or what
    `read_failure` makes of the log.
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
    """The part of ssh's log that is meant for people."""
    return "\n".join(line for line in notes.splitlines() if not line.startswith(_ASIDES))


def _lost(seen: SshProbe) -> SshProbe:
    """We were just let in, so an unknown failure is a broken connection."""
    return SshProbe(ProbeAnswer.SILENT, seen.stderr) if seen.answer == ProbeAnswer.BROKEN else seen
