"""The one sink of every command: data to stdout, talk to stderr, in four modes."""

import sys
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TextIO

from prime_cli.core.errors import Declined, PrimeError, UsageError
from prime_cli.core.progress import Progress
from prime_cli.terminal.progress import Lines, Quiet, Spoken
from prime_cli.terminal.prompts import (
    LONGEST_SECRET,
    ask_choice,
    ask_text,
    ask_yes_no,
    can_ask,
    read_secret,
)
from prime_cli.terminal.streams import Stream, find_agent
from prime_cli.terminal.text import aligned, as_json, builtins_of, clean, in_room, width, wrapped

if TYPE_CHECKING:
    from prime_cli.terminal.live import LiveTable

MODES = ("table", "plain", "json", "jsonl")
_MOST_FOR_AGENTS = 40
_RED, _YELLOW, _DIM, _OFF = "\x1b[31m", "\x1b[33m", "\x1b[2m", "\x1b[0m"

Line = tuple[str, str]
"""A label and its text."""


class Output:
    """Verbs to show what a command found and did.

    `table` (the default) draws for people: with colour and fitted to the screen on a terminal,
    with every value whole elsewhere. `plain` is tab-separated, without headers. `json` is one
    document, `jsonl` one record a line. `quiet` keeps only data, warnings and errors; `yes` answers
    `confirm`. A coding agent gets the first lines of what is for people, and the `command` for the
    rest.
    """

    def __init__(
        self,
        mode: str | None = None,
        *,
        quiet: bool = False,
        yes: bool = False,
        command: str = "prime",
        out: TextIO | None = None,
        err: TextIO | None = None,
    ) -> None:
        if mode is not None and mode not in MODES:
            raise UsageError(
                f"`{mode}` is not an output format", hint=f"choose one of {', '.join(MODES)}"
            )
        self.mode = mode or "table"
        self.quiet = quiet
        self._yes = yes
        self._command = command
        self._out = Stream(out or sys.stdout)
        self._err = Stream(err or sys.stderr)
        self._above_bars: Callable[[str], None] | None = None

    @property
    def is_json(self) -> bool:
        """Whether stdout carries JSON."""
        return self.mode in ("json", "jsonl")

    @property
    def is_interactive(self) -> bool:
        """Whether a person can be asked."""
        return can_ask(self._err)

    def show(self, value: Any, *, lines: Sequence[Line] | None = None) -> None:
        """One record: its JSON, or its labelled `lines` (by default its own fields)."""
        if self.is_json:
            self._write_json(value)
        else:
            self._write_lines(_lines_of(value) if lines is None else lines)

    def table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        records: Sequence[Any],
        page: Any | None = None,
        title: str | None = None,
    ) -> None:
        """Many records: rows under columns, or JSON of `page` (else of `records`).

        `jsonl` always writes one of `records` a line.
        """
        match self.mode:
            case "json":
                self._write_json(list(records) if page is None else page)
            case "jsonl":
                for record in records:
                    self._write_json(record)
            case "plain":
                self._write("".join("\t".join(_one_line(c) for c in row) + "\n" for row in rows))
            case _:
                self._draw_table(columns, rows, title)

    def live_table(self) -> "LiveTable | None":
        """A table that is drawn again in its place; None where nobody would see that."""
        if self.mode != "table" or not self._out.can_draw:
            return None
        from prime_cli.terminal.live import LiveTable

        return LiveTable(self._out)

    def text(self, text: str, *, record: Any) -> None:
        """A text of its own, such as a file, as it is; in JSON modes `record`, which holds it."""
        if self.is_json:
            self._write_json(record)
        else:
            self._write(f"{clean(text).rstrip()}\n" if text else "")

    def is_read(self) -> bool:
        """Whether anybody still reads stdout: what has no end by itself ends with its reader."""
        return self._out.has_reader()

    def done(self, sentence: str, *, value: Any = None) -> None:
        """Say that the work is done; in JSON modes also write `value` to stdout."""
        if self.is_json and value is not None:
            self._write_json(value)
        if not self.quiet:
            self._talk(clean(sentence))

    def say(self, text: str) -> None:
        """One line about a choice that was made for the user."""
        if not self.quiet:
            self._talk(self._painted(_DIM, text))

    def tell(self, text: str) -> None:
        """One line that a person must act on, also in quiet mode."""
        self._talk(clean(text))

    def hint(self, text: str) -> None:
        """Name the next command."""
        if not self.quiet:
            self._talk(f"{self._painted(_DIM, 'hint:')} {clean(text)}")

    def warn(self, text: str, *, hint: str | None = None) -> None:
        """One line about something that went differently from what was asked."""
        self._talk(f"{self._painted(_YELLOW, 'warning:')} {clean(text)}")
        if hint:
            self._talk(f"{self._painted(_DIM, 'hint:')} {clean(hint)}")

    def fail(self, error: PrimeError) -> None:
        """Tell a failure: its sentence, another program's last lines, what to do next.

        In JSON modes it is one line `{"error": {"code", "message", "hint", "detail"}}` on stderr.
        """
        if self.is_json:
            lines = {
                "code": error.code,
                "message": error.message,
                "hint": error.hint,
                "detail": error.detail,
            }
            self._tell(as_json({"error": lines}, ascii_only=not self._err.is_unicode))
            return
        # A person who has said no has made no error.
        label = "" if isinstance(error, Declined) else f"{self._painted(_RED, 'error:')} "
        self._talk(f"{label}{clean(error.message)}")
        for line in (error.detail or "").rstrip().splitlines():
            self._tell(f"  {clean(line)}".rstrip())
        if error.hint:
            self._talk(f"{self._painted(_DIM, 'hint:')} {clean(error.hint)}")

    def confirm(self, question: str, *, otherwise: str, hint: str | None = None) -> None:
        """Return once a person has agreed at a terminal, or beforehand with `yes`.

        Raises Declined with the sentence `otherwise` (what was left as it is) after any other
        answer, and UsageError where nobody can be asked.
        """
        if not self._yes and not self.ask(question, flag="--yes"):
            raise Declined(otherwise, hint=hint)

    def ask(self, question: str, *, flag: str) -> bool:
        """A choice where no is as good as yes; raises as `confirm`, and Declined for no answer."""
        return ask_yes_no(question, self._err, flag=flag)

    def read_secret(self, label: str, *, most: int = LONGEST_SECRET) -> str:
        """What is typed unseen on a terminal, else all of stdin.

        Raises UsageError for too much, Declined when nothing was typed.
        """
        return read_secret(label, self._err, most=most)

    def choose(self, question: str, options: Sequence[str], *, flag: str | None = None) -> str:
        """Let the user pick one of `options`; without a terminal UsageError lists them."""
        return ask_choice(question, options, self._err, flag=flag)

    def enter(self, question: str, *, default: str, flag: str) -> str:
        """Let the user type a line, Enter alone is `default`; raises as `ask`."""
        return ask_text(question, self._err, default=default, flag=flag)

    @property
    def spoken(self) -> Progress:
        """The same for work that leaves the terminal to a program: sentences alone."""
        return Spoken(self)

    @cached_property
    def _most_lines(self) -> int | None:
        return _MOST_FOR_AGENTS if find_agent() else None

    @cached_property
    def progress(self) -> Progress:
        """How domain code reports: bars on a terminal, lines elsewhere, only warnings if quiet."""
        if self.quiet:
            return Quiet(self)
        if not self._err.can_draw:
            return Lines(self)
        from prime_cli.terminal.live import Bars

        return Bars(self, self._err)

    def write_above(self, write: Callable[[str], None] | None) -> None:
        """While bars are drawn, talk through `write`, which prints above them."""
        self._above_bars = write

    def _write(self, text: str) -> None:
        self._out.write(text)

    def _talk(self, sentence: str) -> None:
        """A sentence of ours, broken at words; what other programs said keeps its lines."""
        columns = self._err.columns
        self._tell(sentence if columns is None else wrapped(self._err.fit(sentence), columns))

    def _tell(self, line: str) -> None:
        (self._above_bars or self._err.write)(f"{line}\n")

    def _painted(self, colour: str, text: str) -> str:
        text = clean(text)
        return f"{colour}{text}{_OFF}" if self._err.colour else text

    def _write_json(self, value: Any) -> None:
        indent = 2 if self.mode == "json" else None
        self._write(as_json(value, indent=indent, ascii_only=not self._out.is_unicode) + "\n")

    def _write_lines(self, lines: Sequence[Line]) -> None:
        # A label may be a stranger's too: the name of a metric, say.
        lines = [(_label(label), text) for label, text in lines]
        if self.mode == "plain":
            self._write("".join(f"{label}\t{_one_line(text)}\n" for label, text in lines))
            return
        size = max((len(label) for label, _ in lines), default=0) + 2
        room = None if self._out.columns is None else max(_LEAST_ROOM, self._out.columns - size)
        shown = [
            _labelled(label, text, size, room=room, colour=self._out.colour)
            for label, text in lines
        ]
        self._write_most(shown)

    def _draw_table(
        self, columns: Sequence[str], rows: Sequence[Sequence[str]], title: str | None
    ) -> None:
        # Before columns are measured: what a console lacks may take more room, as `...` does.
        cells = [[self._out.fit(_one_line(cell)) for cell in row] for row in rows]
        if self._out.is_tty and self._most_lines is None:
            from prime_cli.terminal.tables import draw

            self._write(draw(columns, cells, title=title, stream=self._out))
            return
        lines = [*([title] if title else []), *aligned(columns, cells)]
        self._write_most([f"{line}\n" for line in lines])

    def _write_most(self, lines: Sequence[str]) -> None:
        """What is for people; of that an agent's context has room for the first lines."""
        self._write("".join(lines[: self._most_lines]))
        left = len(lines) - (self._most_lines or len(lines))
        if left > 0:
            self._tell(f"hint: {left} more lines with `{self._command} --output plain`")


def _lines_of(value: Any) -> list[Line]:
    fields = builtins_of(value)
    if not isinstance(fields, dict):
        return [("value", str(fields))]
    return [(name, "" if item is None else str(item)) for name, item in fields.items()]


_LEAST_ROOM = 20
"""Cells for the texts beside labels, also where a terminal has less."""


def _labelled(label: str, text: str, size: int, *, room: int | None, colour: bool) -> str:
    """A label and its text, at most `room` wide; its further lines are indented below the first.

    A path without that room has a line from the left edge on, so that it can be copied.
    """
    lines = clean(text).splitlines()
    if room is not None:
        lines = [part for line in lines for part in in_room(line, room)]
        if lines and width(lines[0]) > room:
            lines.insert(0, "")
    first, *rest = lines or [""]
    shown = f"{label:<{size}}"
    head = f"{_DIM}{shown}{_OFF}{first}" if colour else f"{shown}{first}".rstrip()
    indented = (line if room and width(line) > room else " " * size + line for line in rest)
    return "".join(f"{line}\n" for line in (head, *indented))


def _label(text: str) -> str:
    """On one line, with the blanks that it begins with."""
    return clean(text).replace("\n", " ").replace("\t", " ")


def _one_line(text: str) -> str:
    return " ".join(clean(text).split())
