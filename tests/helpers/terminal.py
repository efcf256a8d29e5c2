"""`prime` at a real terminal (a pty), and what a person sees there, frame by frame."""

import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

import pyte

from tests.helpers.cli import COMMAND

_ERASING = re.compile(rb"(?=\r|\x1b\[\d*[AJK])")
"""Where something is about to be overwritten: what is there by then was shown."""
_SECONDS = 180
"""How long something may take to appear: machines under load are slow."""


class Terminal:
    """A process at a terminal of `columns` x `lines`; it is the terminal's foreground group.

    `seen` are the screens that were shown, one after the other, as text; what scrolled off the top
    is kept with each, and `written` is every byte. `program` is another one than `prime`.
    """

    def __init__(
        self,
        *argv: str,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        columns: int = 80,
        lines: int = 30,
        program: Sequence[str] = COMMAND,
    ) -> None:
        self._screen = pyte.HistoryScreen(columns, lines, history=10_000)
        self._stream = pyte.ByteStream(self._screen)
        self.seen: list[str] = []
        self.written = b""
        self._master, slave = os.openpty()
        environ = {**os.environ, "TERM": "xterm-256color", **(env or {})}
        environ.pop("COLUMNS", None)
        os.set_blocking(self._master, False)
        _set_size(slave, lines, columns)
        self.process = subprocess.Popen(
            # A session of its own whose controlling terminal this is, so that ^C is a signal.
            ["setsid", "--ctty", *program, *argv],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=cwd,
            env=environ,
        )
        os.close(slave)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        os.close(self._master)

    @property
    def text(self) -> str:
        """All that is on the screen now, after what scrolled off."""
        above = ["".join(row[x].data for x in sorted(row)) for row in self._screen.history.top]
        return "\n".join(line.rstrip() for line in [*above, *self._screen.display]).rstrip()

    @property
    def is_clean(self) -> bool:
        """Whether a shell could go on here: a cursor at the start of a line, and what is typed."""
        import termios

        echoes = termios.tcgetattr(self._master)[3] & termios.ECHO
        cursor = self._screen.cursor
        return bool(echoes) and not cursor.hidden and cursor.x == 0

    def wait_for(self, wanted: str) -> str:
        """Read until a screen shows `wanted`, also on one that is gone by now; that screen."""
        deadline = time.monotonic() + _SECONDS
        while True:
            for screen in reversed(self.seen):
                if wanted in screen:
                    return screen
            if not self._read() or time.monotonic() > deadline:
                raise AssertionError(f"`{wanted}` was never shown:\n{self.text}")

    def type(self, keys: str | bytes) -> None:
        """Type into it; "\\x03" is ^C, "\\x04" ^D."""
        os.write(self._master, keys.encode() if isinstance(keys, str) else keys)

    def end(self, seconds: float = _SECONDS) -> int:
        """Read to its end; the exit code."""
        deadline = time.monotonic() + seconds
        while self._read():
            assert time.monotonic() < deadline, f"It does not end:\n{self.text}"
        return self.process.wait(_SECONDS)

    def _read(self) -> bool:
        """Take in what was written; False when nothing can come any more."""
        ready, _, _ = select.select([self._master], [], [], 0.2)
        if not ready:
            return self.process.poll() is None
        try:
            content = os.read(self._master, 65536)
        except OSError:  # Linux says so of a terminal that nobody holds any more
            return False
        self.written += content
        if content and self.seen and not _ERASING.match(content):
            self.seen.pop()  # The system hands over in parts what is written at once.
        for piece in _ERASING.split(content):
            self._stream.feed(piece)
            if not self.seen or self.seen[-1] != self.text:
                self.seen.append(self.text)
        return bool(content)


def _set_size(descriptor: int, lines: int, columns: int) -> None:
    import fcntl
    import struct
    import termios

    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
