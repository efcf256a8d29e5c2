"""stdout and stderr as they really are: closed, piped into `head`, full, or not UTF-8."""

import contextlib
import errno
import os
import select
import sys
from collections.abc import Mapping
from typing import TextIO

from prime_cli.core.env_flags import in_ci, is_on
from prime_cli.core.errors import StorageFailed
from prime_cli.terminal.text import encodable

_FORCING = ("FORCE_COLOR", "CLICOLOR_FORCE")

AGENT_VARIABLES = (
    "AI_AGENT",
    "CLAUDECODE",
    "CODEX_SANDBOX",
    "CODEX_CI",
    "CODEX_THREAD_ID",
    "CURSOR_AGENT",
    "GEMINI_CLI",
    "OPENCODE",
    "AUGMENT_AGENT",
    "ANTIGRAVITY_AGENT",
    "CLINE_ACTIVE",
    "GOOSE_TERMINAL",
)
"""What coding agents set for the commands that they run: the proposed name, then their own."""

_ALSO_NAMED = frozenset(("amp", "crush", "goose"))
"""What they set `AGENT` to, which other tools have for purposes of their own."""


class Stream:
    """A text stream that writes what it can and remembers when its reader has gone.

    `can_draw` says that its cursor can be moved, for bars, and somebody looks; `colour` that
    colour is wanted, of which alone NO_COLOR and FORCE_COLOR speak (https://no-color.org,
    https://force-color.org, https://bixense.com/clicolors).

    A reader that leaves early (`| head`) is no failure: later text is dropped, and the command
    ends with the code that its work deserves.
    """

    def __init__(self, target: TextIO | None, environ: Mapping[str, str] = os.environ) -> None:
        self.target = target
        self._environ = environ
        self.is_tty = target is not None and not target.closed and target.isatty()
        takes_escapes = self.is_tty and _takes_escapes(environ)
        self.can_draw = takes_escapes and not is_unattended(environ)
        self.colour = _wants_colour(environ, otherwise=takes_escapes)

    @property
    def encoding(self) -> str:
        """The stream's encoding; UTF-8 where it does not say."""
        return getattr(self.target, "encoding", None) or "utf-8"

    @property
    def columns(self) -> int | None:
        """The width of the terminal behind it; None where there is none, or it does not say."""
        if not self.is_tty or self.target is None:
            return None
        columns = self._environ.get("COLUMNS", "")
        if columns.isdecimal() and int(columns):
            return int(columns)
        try:
            return os.get_terminal_size(self.target.fileno()).columns or None
        except (OSError, ValueError):
            return None

    @property
    def is_unicode(self) -> bool:
        """Whether any character can be written."""
        return self.encoding.lower().startswith("utf")

    def fit(self, text: str) -> str:
        """`text` as it will be written: in the characters that the stream has."""
        return encodable(text, self.target) if self.target else text

    def write(self, text: str) -> None:
        """Write and flush; raises StorageFailed when the file behind the stream is full."""
        if self.target is None or self.target.closed:
            return
        try:
            self.target.write(encodable(text, self.target))
            self.target.flush()
        except OSError as error:
            self._give_up()
            # EINVAL is what Windows says of a pipe without a reader, EIO a closed terminal.
            if error.errno not in (errno.EPIPE, errno.EINVAL, errno.EIO):
                raise StorageFailed(f"The output could not be written: {error.strerror}") from error

    def has_reader(self) -> bool:
        """Whether what is written next may be read, as far as the system tells without writing."""
        if self.target is None or self.target.closed:
            return False
        if sys.platform == "win32":  # which has no poll
            return True
        waiting = select.poll()
        try:
            waiting.register(self.target.fileno(), 0)
        except (OSError, ValueError):  # no file behind it
            return True
        # Of a pipe without a reader Linux says the one, macOS the other.
        left = select.POLLERR | select.POLLHUP
        return not any(event & left for _, event in waiting.poll(0))

    def _give_up(self) -> None:
        """Point the descriptor at nothing, or the interpreter complains when it flushes at exit."""
        target, self.target = self.target, None
        with contextlib.suppress(OSError, AttributeError):
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, target.fileno() if target else -1)
            os.close(nothing)


def _takes_escapes(environ: Mapping[str, str]) -> bool:
    """Whether a terminal takes escape codes: dumb ones and old Windows consoles do not."""
    if environ.get("TERM") == "dumb":
        return False
    return os.name != "nt" or "WT_SESSION" in environ


def _wants_colour(environ: Mapping[str, str], *, otherwise: bool) -> bool:
    if environ.get("NO_COLOR"):
        return False
    if any(is_on(name, environ) for name in _FORCING):
        return True
    return otherwise and environ.get("CLICOLOR") != "0"


def find_agent(environ: Mapping[str, str] = os.environ) -> str | None:
    """The variable by which a coding agent says that it types; None where a person does."""
    named = [name for name in AGENT_VARIABLES if environ.get(name)]
    if environ.get("AGENT", "").lower() in _ALSO_NAMED:
        named.append("AGENT")
    return next((name for name in named if is_on(name, environ)), None)


def is_unattended(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether nobody looks at bars or answers questions."""
    return in_ci(environ) or find_agent(environ) is not None
