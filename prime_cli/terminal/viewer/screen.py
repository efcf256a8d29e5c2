"""What all screens share: a head, a foot with the keys, a status line; safe text and its styles."""

from collections.abc import Iterable, Iterator

from rich.cells import cell_len, get_character_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Footer, Static

from prime_cli.core.errors import PrimeError
from prime_cli.terminal.text import clean


def motion_keys(form: str, ends: tuple[str, str], *, priority: bool = False) -> list[BindingType]:
    """The keys that move up and down; `form` makes the action of `move`, `page` or `edge`, and a
    step of -1 or 1. `ends` name the edges.
    """
    keys = (
        ("up,k", "move", -1, "Up"),
        ("down,j", "move", 1, "Down"),
        ("pageup", "page", -1, "Page up"),
        ("pagedown,space", "page", 1, "Page down"),
        ("home,g", "edge", -1, ends[0]),
        ("end,G", "edge", 1, ends[1]),
    )
    return [
        Binding(key, form.format(action, step), words, show=False, priority=priority)
        for key, action, step, words in keys
    ]


class ReadFailed(Message):
    """A background thread failed."""

    def __init__(self, failure: PrimeError) -> None:
        super().__init__()
        self.failure = failure


class ViewerScreen(Screen[None]):
    """A title, some lines, the screen's own part, a line of status, and the keys."""

    DEFAULT_CSS = """
    ViewerScreen Static { height: auto; width: 1fr; text-wrap: nowrap; text-overflow: ellipsis; }
    ViewerScreen #title { background: $primary; color: $text; text-style: bold; }
    ViewerScreen #names { color: $text-muted; text-style: underline; }
    ViewerScreen #status { color: $text-muted; text-wrap: wrap; max-height: 3; }
    """
    is_first = False
    """Whether there is nothing to go back to."""

    def compose(self) -> ComposeResult:
        yield label("title")
        yield label("facts")
        yield from self.parts()
        yield label("status")
        yield Footer(compact=True)

    def parts(self) -> Iterable[Widget]:
        """The widgets between the head and the status line."""
        return ()

    def say(self, name: str, *lines: str) -> None:
        """Show lines of untrusted text in the label `name`."""
        self.query_one(f"#{name}", Static).update("\n".join(one_line(line) for line in lines))

    def name_columns(self, names: str) -> None:
        """Show the column names in the label `names`."""
        self.query_one("#names", Static).update(names)

    def fail(self, failure: PrimeError) -> None:
        """Show a failure in the status line."""
        hint = f" - {failure.hint}" if failure.hint else ""
        self.say("status", f"{failure.message}{hint}")

    def on_read_failed(self, event: ReadFailed) -> None:
        self.fail(event.failure)

    def action_back(self) -> None:
        """Leave this screen, unless it is the first."""
        if self.is_first:
            self.say("status", "press q to quit")
        else:
            self.app.pop_screen()


def label(name: str) -> Static:
    """A label for text without markup."""
    return Static("", id=name, markup=False)


# --- Untrusted text ---

_REORDERING = dict.fromkeys(
    (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
)
_BREAKS = {0x2028: "\n", 0x2029: "\n"}


def printable(text: str) -> str:
    """`text` without control characters, direction marks and lone surrogates."""
    safe = clean(text.translate(_REORDERING | _BREAKS))
    if not safe.isascii():
        safe = safe.encode("utf-8", "replace").decode("utf-8")
    return safe.expandtabs(4) if "\t" in safe else safe


def one_line(text: str) -> str:
    """The same on one line."""
    return " ".join(printable(text).split())


def wrapped(text: str, width: int) -> Iterator[str]:
    """The lines of a printable text, none wider than `width` cells; broken at blanks if it can."""
    for line in text.split("\n"):
        if len(line) <= width and (line.isascii() or cell_len(line) <= width):
            yield line
        else:
            yield from _broken(line, max(width, 2))


def _broken(line: str, width: int) -> Iterator[str]:
    start = 0
    while start < len(line):
        end = _reach(line, start, width)
        blank = line.rfind(" ", start + width // 2, end + 1) if end < len(line) else -1
        if blank > start:
            yield line[start:blank]
            start = blank + 1
        else:
            yield line[start:end]
            start = end


def _reach(line: str, start: int, width: int) -> int:
    """The end of what fits into `width` cells from `start`; at least one character."""
    part = line[start : start + width]
    if part.isascii():
        return start + len(part)
    used = 0
    for index, character in enumerate(part, start):
        used += get_character_cell_size(character)
        if used > width:
            return max(index, start + 1)
    return start + len(part)


# --- Styles ---

PLAIN = Style()
DIM = Style(dim=True)
BOLD = Style(bold=True)
GOOD = Style(color="green")
BAD = Style(color="red")
MIDDLE = Style(color="yellow")
ERROR = Style(color="magenta")
CURSOR = Style(reverse=True)
LABELS = {
    "fact": DIM,
    "turn": Style(bold=True, color="cyan"),
    "call": Style(bold=True, color="yellow"),
    "error": Style(bold=True, color="magenta"),
}

Line = list[Segment]
"""The segments of one line of a screen."""


def of_reward(reward: float | None) -> Style:
    """Green from 1 on, red from 0 down, yellow between; magenta for an error."""
    if reward is None:
        return ERROR
    if reward >= 1:
        return GOOD
    return BAD if reward <= 0 else MIDDLE
