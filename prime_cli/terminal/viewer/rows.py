"""Lists of any length, of which only the visible lines are rendered; and the grid of a run."""

from collections.abc import Callable
from itertools import chain
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from prime_cli.core.formatting import format_number
from prime_cli.terminal.viewer.protocols import Examples, RolloutCell
from prime_cli.terminal.viewer.screen import (
    BOLD,
    CURSOR,
    DIM,
    PLAIN,
    Line,
    motion_keys,
    of_reward,
)


class Rows(ScrollView, can_focus=True, inherit_bindings=False):
    """Lines made by a function of their index; one of them is under the cursor.

    The cursor skips those that are heads.
    """

    DEFAULT_CSS = "Rows { height: 1fr; overflow-x: hidden; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        *motion_keys("{}({})", ("First", "Last")),
        Binding("enter", "choose", "Open"),
    ]

    class Chosen(Message):
        """Enter was pressed on, or the mouse hit, a row."""

        def __init__(self, rows: "Rows", index: int) -> None:
            super().__init__()
            self.rows, self.index = rows, index

        @property
        def control(self) -> "Rows":
            """The list, for `@on` with a selector."""
            return self.rows

    def __init__(
        self,
        line: Callable[[int], Line],
        *,
        is_head: Callable[[int], bool] = lambda _: False,
        id: str | None = None,  # noqa: A002
    ) -> None:
        super().__init__(id=id)
        self._line = line
        self._is_head = is_head
        self.count = 0
        self.cursor = 0

    def show(self, count: int, *, cursor: int | None = None) -> None:
        """Set the number of rows; the cursor stays unless it is given."""
        self.count = count
        self.virtual_size = Size(0, count)
        self.move_to(self.cursor if cursor is None else cursor)
        self.refresh()

    def follow(self, count: int, cursor: int) -> None:
        """Set the number of rows; the row under the cursor, now `cursor`, stays at its height."""
        moved = cursor - self.cursor
        top = round(self.scroll_y) + moved if self.count else 0
        self.show(count, cursor=cursor)
        if moved and top > 0:
            self.scroll_to(y=top, animate=False)

    def move_to(self, index: int) -> None:
        """Put the cursor on row `index`, or the nearest there is, and bring it into view."""
        index = max(0, min(index, self.count - 1))
        ways = [range(index, self.count), range(index, -1, -1)]
        if index < self.cursor:
            ways.reverse()
        self.cursor = next((row for row in chain(*ways) if not self._is_head(row)), index)
        height = max(1, self.scrollable_content_region.height)
        top = round(self.scroll_y)
        above = self.cursor - (self.cursor > 0 and self._is_head(self.cursor - 1))
        if above < top:
            self.scroll_to(y=above, animate=False)
        elif self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        index = y + self.scroll_offset.y
        width = self.scrollable_content_region.width
        if index >= self.count:
            return Strip.blank(width, self.rich_style)
        style = self.rich_style
        if index == self.cursor and self.marks_row:
            style += CURSOR
        line = [Segment(text, style + (own or PLAIN)) for text, own, _ in self._line(index)]
        return Strip(line).adjust_cell_length(width, style).crop(0, width)

    @property
    def marks_row(self) -> bool:
        """Whether the whole row under the cursor is marked."""
        return True

    def on_resize(self, _event: events.Resize) -> None:
        self.move_to(self.cursor)

    def on_click(self, event: events.Click) -> None:
        index = event.y + self.scroll_offset.y
        if index < self.count and not self._is_head(index):
            self.move_to(index)
            self.action_choose()

    def action_move(self, step: int) -> None:
        self.move_to(self.cursor + step)

    def action_page(self, step: int) -> None:
        self.move_to(self.cursor + step * max(1, self.scrollable_content_region.height - 1))

    def action_edge(self, step: int) -> None:
        self.move_to(0 if step < 0 else self.count - 1)

    def action_choose(self) -> None:
        if self.count:
            self.post_message(self.Chosen(self, self.cursor))


def piece(text: str, style: Style = PLAIN) -> Segment:
    """A piece of a line."""
    return Segment(text, style)


# --- Examples by rollouts ---

_EXAMPLE, _MEAN, _CELL = 9, 9, 8
_SHORT = {"infra": "infra!", "model": "model!", "environment": "env!"}


class RolloutGrid(Rows):
    """One example a row, one rollout a column; the cursor is on a rollout."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "turn(-1)", "Left", show=False),
        Binding("right,l", "turn(1)", "Right", show=False),
    ]

    class Opened(Message):
        """A rollout was chosen."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(self._row, id=id)
        self._examples: Examples | None = None
        self.column = 0
        self._left = 0

    @property
    def marks_row(self) -> bool:
        return False

    @property
    def header(self) -> str:
        """The names of the columns that are in view."""
        rollouts = range(self._left, self._left + self._fitting)
        columns = self._examples.columns if self._examples else 0
        shown = [rollout for rollout in rollouts if rollout < columns]
        is_numbered = self._examples is None or self._examples.is_numbered
        labels = (f"r{rollout}" if is_numbered else str(rollout + 1) for rollout in shown)
        names = "".join(f"{label:>{_CELL}}" for label in labels)
        more = " →" if self._left + self._fitting < columns else ""
        return f"{'example':>{_EXAMPLE}}{'mean':>{_MEAN}}{names}{more}"

    def fill(self, examples: Examples) -> None:
        """Show these, with the cursor on the example it was on if that is still there."""
        at = self.current
        self._examples = examples
        self.show(len(examples), cursor=examples.index_of(at[0]) if at else 0)
        self._into_view()

    @property
    def current(self) -> tuple[int, RolloutCell] | None:
        """The example and the rollout under the cursor."""
        if self._examples is None or not self.count:
            return None
        row = self._examples.row(self.cursor)
        return row.example_id, row.cells[min(self.column, len(row.cells) - 1)]

    @property
    def _fitting(self) -> int:
        width = self.scrollable_content_region.width - _EXAMPLE - _MEAN - 2
        return max(1, width // _CELL)

    def _row(self, index: int) -> Line:
        if self._examples is None:
            return []
        row = self._examples.row(index)
        at = min(self.column, len(row.cells) - 1) if index == self.cursor else -1
        line = [
            piece(f"{row.example_id:>{_EXAMPLE}}", BOLD if at >= 0 else DIM),
            piece(f"{format_number(row.mean, '-'):>{_MEAN}}", of_reward(row.mean)),
        ]
        for column in range(self._left, min(self._left + self._fitting, len(row.cells))):
            cell = row.cells[column]
            shown = _short(cell)
            style = of_reward(cell.reward) if cell.is_match else DIM
            line.append(piece(" " * max(1, _CELL - len(shown))))
            line.append(piece(shown, style + CURSOR if column == at else style))
        return line

    def on_click(self, event: events.Click) -> None:
        self.column = max(0, (event.x - _EXAMPLE - _MEAN) // _CELL + self._left)
        super().on_click(event)
        event.prevent_default()

    def action_turn(self, step: int) -> None:
        """Move over the rollouts of an example."""
        at = self.current
        if at is not None and self._examples is not None:
            most = len(self._examples.row(self.cursor).cells) - 1
            self.column = max(0, min(min(self.column, most) + step, most))
            self._into_view()

    def action_choose(self) -> None:
        at = self.current
        if at is not None:
            self.post_message(self.Opened(at[1].number))

    def _into_view(self) -> None:
        if self.column < self._left:
            self._left = self.column
        elif self.column >= self._left + self._fitting:
            self._left = self.column - self._fitting + 1
        self.refresh()
        self.post_message(self.Scrolled())

    class Scrolled(Message):
        """Other columns may be in view."""


def _short(cell: RolloutCell) -> str:
    cut = "~" if cell.is_truncated else ""
    if cell.error is not None:
        return _SHORT.get(cell.error, "error!") + cut
    text = format_number(cell.reward, "-")
    return (text if len(text) < _CELL else format_number(cell.reward, digits=2)) + cut
