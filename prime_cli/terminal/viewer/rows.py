"""A list of any length: only the lines that are on the screen are made."""

from collections.abc import Callable
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from prime_cli.terminal.viewer.styles import CURSOR, PLAIN, Line


class Rows(ScrollView, can_focus=True, inherit_bindings=False):
    """Lines made by a function of their place; one of them is under the cursor."""

    DEFAULT_CSS = "Rows { height: 1fr; overflow-x: hidden; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown,space", "page(1)", show=False),
        Binding("home,g", "go(0)", show=False),
        Binding("end,G", "go(-1)", show=False),
        Binding("enter", "choose", "Open"),
    ]

    class Chosen(Message):
        """Enter was pressed on, or the mouse hit, a row."""

        def __init__(self, rows: "Rows", place: int) -> None:
            super().__init__()
            self.rows, self.place = rows, place

        @property
        def control(self) -> "Rows":
            """The list, for `@on` with a selector."""
            return self.rows

    def __init__(self, line: Callable[[int], Line], *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._line = line
        self.count = 0
        self.cursor = 0

    def show(self, count: int, *, cursor: int | None = None) -> None:
        """Have `count` rows from now on, and keep the cursor unless it is given."""
        self.count = count
        self.virtual_size = Size(0, count)
        self.move_to(self.cursor if cursor is None else cursor)
        self.refresh()

    def move_to(self, place: int) -> None:
        """Put the cursor on row `place`, or the nearest there is, and bring it into view."""
        self.cursor = max(0, min(place, self.count - 1))
        height = max(1, self.scrollable_content_region.height)
        top = round(self.scroll_y)
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False)
        elif self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        place = y + self.scroll_offset.y
        width = self.scrollable_content_region.width
        if place >= self.count:
            return Strip.blank(width, self.rich_style)
        style = self.rich_style
        if place == self.cursor and self.marks_row:
            style += CURSOR
        line = [Segment(text, style + (own or PLAIN)) for text, own, _ in self._line(place)]
        return Strip(line).adjust_cell_length(width, style).crop(0, width)

    @property
    def marks_row(self) -> bool:
        """Whether the whole row under the cursor is marked."""
        return True

    def on_resize(self, _event: events.Resize) -> None:
        self.move_to(self.cursor)

    def on_click(self, event: events.Click) -> None:
        place = event.y + self.scroll_offset.y
        if place < self.count:
            self.move_to(place)
            self.action_choose()

    def action_move(self, step: int) -> None:
        self.move_to(self.cursor + step)

    def action_page(self, step: int) -> None:
        self.move_to(self.cursor + step * max(1, self.scrollable_content_region.height - 1))

    def action_go(self, place: int) -> None:
        self.move_to(self.count - 1 if place < 0 else place)

    def action_choose(self) -> None:
        if self.count:
            self.post_message(self.Chosen(self, self.cursor))


def piece(text: str, style: Style = PLAIN) -> Segment:
    """A piece of a line."""
    return Segment(text, style)
