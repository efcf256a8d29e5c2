"""Progress bars on a terminal's stderr; they leave nothing behind."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any, Protocol, cast

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from prime_cli.core.progress import Task
from prime_cli.terminal.progress import Talk
from prime_cli.terminal.streams import Stream

_STEPS = ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB"))


class Drawer(Talk, Protocol):
    """What bars need of Output: talk, and to take its lines while they are drawn."""

    def write_above(self, write: Callable[[str], None] | None) -> None:
        """Send further lines to `write`, or back to stderr when it is None."""


class Screen:
    """The stream as rich writes to it: a terminal that was closed ends the bars, not the work."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._target = stream.target

    def write(self, text: str) -> int:
        """Write and flush, as long as somebody looks."""
        self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """All was written."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)


class Bars:
    """A live display of all work under way."""

    def __init__(self, talk: Drawer, stream: Stream) -> None:
        self._talk = talk
        screen = cast("IO[str]", Screen(stream))
        self._console = Console(file=screen, stderr=True, highlight=False)
        self._live: Progress | None = None
        self._open = 0

    @contextmanager
    def task(
        self, description: str, *, total: int | None = None, unit: str = "items"
    ) -> Iterator[Task]:
        """Draw a bar while the context is open; an unknown total pulses."""
        live = self._start()
        bar = Bar(live, live.add_task(description, total=total, count="", note=""), total, unit)
        try:
            yield bar
        finally:
            self._stop(live, bar)

    def say(self, message: str) -> None:
        """One line above the bars."""
        self._talk.say(message)

    def warn(self, message: str, *, hint: str | None = None) -> None:
        """One warning above the bars."""
        self._talk.warn(message, hint=hint)

    def _start(self) -> Progress:
        self._open += 1
        if self._live is None:
            self._live = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=None),
                TextColumn("{task.fields[count]}"),
                TextColumn("{task.fields[note]}", style="dim"),
                TimeElapsedColumn(),
                console=self._console,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
                expand=True,
            )
            self._live.start()
            self._talk.write_above(self._print)
        return self._live

    def _stop(self, live: Progress, bar: "Bar") -> None:
        self._open -= 1
        if self._open:
            live.remove_task(bar.id)
            return
        self._talk.write_above(None)
        self._live = None
        live.stop()

    def _print(self, line: str) -> None:
        self._console.print(Text.from_ansi(line.rstrip("\n")), soft_wrap=True)


class Bar:
    """One line of the display."""

    def __init__(self, live: Progress, task_id: TaskID, total: int | None, unit: str) -> None:
        self.id = task_id
        self._live = live
        self._unit = unit
        self._done = 0
        self._total = total

    def advance(self, amount: int = 1) -> None:
        """Move the bar."""
        self._done += amount
        self._live.update(self.id, advance=amount, count=self._count())

    def update(self, *, total: int | None = None, note: str | None = None) -> None:
        """Learn the total, or change the note."""
        if total is not None:
            self._total = total
            self._live.update(self.id, total=total, count=self._count())
        if note is not None:
            self._live.update(self.id, note=note)

    def _count(self) -> str:
        shown = size_text if self._unit == "bytes" else str
        return shown(self._done) + (f"/{shown(self._total)}" if self._total else "")


def size_text(size: int) -> str:
    """Bytes as people read them: `3.2 MB`."""
    for step, name in _STEPS:
        if size >= step:
            return f"{size / step:.1f} {name}"
    return f"{size} B"
