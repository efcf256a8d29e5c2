"""What is redrawn in place on a terminal: progress bars, which vanish at the end, and tables."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from types import TracebackType
from typing import IO, Any, Protocol, Self, cast

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import Task as RichTask
from rich.table import Column
from rich.text import Text

from prime_cli.core.formatting import count_text
from prime_cli.core.progress import Task
from prime_cli.terminal.progress import Talk
from prime_cli.terminal.streams import Stream
from prime_cli.terminal.tables import draw
from prime_cli.terminal.text import clean, width

_ROOM_FOR_BARS = 60
"""Columns of a terminal below which the bar itself is left out."""
_ECHO = 4
"""Cells that two times Ctrl-C take."""
_LEAST_BAR, _LEAST_NOTE, _LEAST_TEXT, _CLOCK, _GAPS = 8, 10, 4, 7, 4
_CUT = ".."
"""In ASCII, as every console has it: an ellipsis would take three cells on some, one on others."""


class Drawer(Talk, Protocol):
    """What bars need of Output: to print lines above them while they are drawn."""

    def write_above(self, write: Callable[[str], None] | None) -> None:
        """Send further lines to `write`, or back to stderr when it is None."""


class Screen:
    """A file for rich; a closed terminal ends the bars, not the work."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._target = stream.target

    def write(self, text: str) -> int:
        """Write and flush while the terminal is open."""
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
        bar = None
        self._open += 1
        # Ctrl-C may come at any moment, also before the first bar is drawn.
        try:
            live = self._start()
            bar = Bar(live, live.add_task(description, total=total, count="", note=""), total, unit)
            yield bar
        finally:
            self._stop(bar)

    def say(self, message: str) -> None:
        """One line above the bars."""
        self._talk.say(message)

    def warn(self, message: str, *, hint: str | None = None) -> None:
        """One warning above the bars."""
        self._talk.warn(message, hint=hint)

    def _start(self) -> Progress:
        if self._live is None:
            self._live = Display(
                *self._columns(),
                below=self._below,
                console=self._console,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
                expand=True,
            )
            self._live.start()
            self._talk.write_above(self._print)
        return self._live

    def _columns(self) -> list[ProgressColumn]:
        """What is drawn of each piece of work; the bar itself only where there is room for it."""
        bar = [BarColumn(bar_width=None)] if self._console.width >= _ROOM_FOR_BARS else []
        return [
            Fitted("description", self._room),
            *bar,
            TextColumn("{task.fields[count]}", markup=False),
            Fitted("note", self._room),
            TimeElapsedColumn(),
        ]

    def _room(self, task: RichTask, name: str) -> int:
        """Cells for a description or a note: counts and times stay whole, as they say most.

        Notes get what the descriptions leave, at least a third, or nothing if that is little; a
        note that is alone and does not fit has a line of its own.
        """
        tasks = (self._live.tasks if self._live else []) or [task]
        room = self._line(tasks)
        if self._below(tasks) is not None:
            return room if name == "description" else 0
        descriptions = max(width(each.description) for each in tasks)
        notes = max(width(each.fields["note"]) for each in tasks)
        notes = min(notes, max(room - descriptions, room // 3))
        notes = notes if notes >= _LEAST_NOTE else 0
        descriptions = min(descriptions, room - notes)
        return descriptions if name == "description" else max(0, room - descriptions)

    def _line(self, tasks: Sequence[RichTask]) -> int:
        """Cells of a line for descriptions and notes."""
        counts = max(width(each.fields["count"]) for each in tasks)
        bar = _LEAST_BAR if self._console.width >= _ROOM_FOR_BARS else 0
        return self._console.width - _ECHO - counts - _CLOCK - bar - _GAPS

    def _below(self, tasks: Sequence[RichTask]) -> str | None:
        """The note of the only task, if it does not fit beside the bar."""
        if len(tasks) != 1:
            return None
        note = clean(tasks[0].fields["note"])
        beside = self._line(tasks) - width(tasks[0].description)
        return cut(f"  {note}", self._console.width - _ECHO) if width(note) > beside else None

    def _stop(self, bar: "Bar | None") -> None:
        self._open -= 1
        live = self._live
        if live is None:
            return
        if self._open:
            if bar is not None:
                live.remove_task(bar.id)
            return
        self._talk.write_above(None)
        self._live = None
        try:
            live.stop()
        except BaseException:
            self._console.show_cursor(show=True)
            raise

    def _print(self, line: str) -> None:
        live = self._live
        # Private in rich, and no other lock will do: rich finds out where the bars begin under it,
        # but writes later, and bars that its thread draws in between would stay.
        with nullcontext() if live is None else live.live._lock:  # noqa: SLF001
            self._console.print(Text.from_ansi(line.rstrip("\n")), soft_wrap=True)


class Display(Progress):
    """Bars that end before the line does.

    The terminal puts its `^C` behind them: on a line of its own, that would be taken away in the
    place of a bar. `below` is what a line below the bars shows.
    """

    def __init__(
        self,
        *columns: ProgressColumn,
        below: Callable[[Sequence[RichTask]], str | None],
        **options: Any,
    ) -> None:
        self._below = below  # first: the display is drawn while it is made
        super().__init__(*columns, **options)

    def get_renderables(self) -> Iterator[RenderableType]:
        """The bars, and the note that has no room there."""
        yield from super().get_renderables()
        told = self._below(self.tasks)
        if told is not None:
            yield Text(told, style="dim", no_wrap=True)

    def get_renderable(self) -> RenderableType:
        """All bars, one a line."""
        return Shortened(super().get_renderable())


class Shortened:
    """What is drawn, with a few cells less than a line has."""

    def __init__(self, drawn: RenderableType) -> None:
        self._drawn = drawn

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """As rich asks for it."""
        yield from console.render(self._drawn, options.update_width(options.max_width - _ECHO))


class Fitted(ProgressColumn):
    """The description of a piece of work, or its note, cut to its room; no text is markup."""

    def __init__(self, name: str, room: Callable[[RichTask, str], int]) -> None:
        super().__init__(table_column=Column(no_wrap=True))
        self._name = name
        self._room = room

    def render(self, task: RichTask) -> Text:
        """The text, as much of it as there is room for."""
        told = task.description if self._name == "description" else task.fields["note"]
        shown = cut(clean(told), self._room(task, self._name))
        return Text(shown, style="" if self._name == "description" else "dim")


class Bar:
    """One line of the display."""

    def __init__(self, live: Progress, task_id: TaskID, total: int | None, unit: str) -> None:
        self.id = task_id
        self._live = live
        self._unit = unit
        self._done = 0
        self._total = total
        self._note = self._alert = ""

    def advance(self, amount: int = 1) -> None:
        """Move the bar."""
        self._done += amount
        self._live.update(self.id, advance=amount, count=self._count())

    def update(
        self, *, total: int | None = None, note: str | None = None, alert: str | None = None
    ) -> None:
        """Learn the total, or change the note; an alert stands in its place."""
        if total is not None:
            self._total = total
            self._live.update(self.id, total=total, count=self._count())
        self._note = self._note if note is None else note
        self._alert = self._alert if alert is None else alert
        # One of them: 80 columns do not hold both.
        self._live.update(self.id, note=self._alert or self._note)

    def _count(self) -> str:
        return count_text(self._done, self._total, self._unit)


def cut(text: str, room: int) -> str:
    """`text` in at most `room` cells, the end of what is longer replaced by two dots."""
    if width(text) <= room:
        return text
    if room < _LEAST_TEXT:
        return ""
    while text and width(text) + len(_CUT) > room:
        text = text[:-1]
    return f"{text}{_CUT}" if text else ""


# --- Tables ---


class LiveTable:
    """A context manager; `show` replaces what was shown before, and the last table stays.

    The cursor is hidden meanwhile and always restored.
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        screen = cast("IO[str]", Screen(stream))
        self._console = Console(file=screen, highlight=False, force_terminal=True)
        self._live = Live(
            console=self._console,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._live.stop()
        except BaseException:  # Ctrl-C once more
            self._console.show_cursor(show=True)
            raise

    def show(self, columns: Sequence[str], rows: Sequence[Sequence[str]], below: str) -> None:
        """Show a table and a line below it, cut to the height of the screen."""
        cells = [[self._stream.fit(" ".join(clean(cell).split())) for cell in row] for row in rows]
        table = draw(columns, cells, title=None, stream=self._stream)
        text = Text.from_ansi(f"{table.rstrip()}\n{self._stream.fit(clean(below))}")
        self._live.update(text, refresh=True)
