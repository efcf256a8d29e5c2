"""Examples by rollouts on the screen."""

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from prime_cli.terminal.viewer.rows import Rows, piece
from prime_cli.terminal.viewer.shown import Cell, Examples
from prime_cli.terminal.viewer.styles import (
    BOLD,
    CURSOR,
    DIM,
    Line,
    number,
    of_reward,
)

_EXAMPLE, _MEAN, _CELL = 9, 9, 8
_SHORT = {"infra": "infra!", "model": "model!", "environment": "env!"}


class Grid(Rows):
    """One example a row, one rollout a column; the cursor is on a rollout."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "turn(-1)", show=False),
        Binding("right,l", "turn(1)", show=False),
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
        names = "".join(f"{f'r{rollout}':>{_CELL}}" for rollout in rollouts if rollout < columns)
        more = " →" if self._left + self._fitting < columns else ""
        return f"{'example':>{_EXAMPLE}}{'mean':>{_MEAN}}{names}{more}"

    def fill(self, examples: Examples) -> None:
        """Show these, with the cursor on the example it was on if that is still there."""
        at = self.current
        self._examples = examples
        self.show(len(examples), cursor=examples.place_of(at[0]) if at else 0)
        self._into_view()

    @property
    def current(self) -> tuple[int, Cell] | None:
        """The example and the rollout under the cursor."""
        if self._examples is None or not self.count:
            return None
        row = self._examples.row(self.cursor)
        return row.example_id, row.cells[min(self.column, len(row.cells) - 1)]

    @property
    def _fitting(self) -> int:
        width = self.scrollable_content_region.width - _EXAMPLE - _MEAN - 2
        return max(1, width // _CELL)

    def _row(self, place: int) -> Line:
        if self._examples is None:
            return []
        row = self._examples.row(place)
        at = min(self.column, len(row.cells) - 1) if place == self.cursor else -1
        line = [
            piece(f"{row.example_id:>{_EXAMPLE}}", BOLD if at >= 0 else DIM),
            piece(f"{number(row.mean):>{_MEAN}}", of_reward(row.mean)),
        ]
        for column in range(self._left, min(self._left + self._fitting, len(row.cells))):
            cell = row.cells[column]
            shown = _short(cell)
            style = of_reward(cell.reward) if cell.is_match else DIM
            line.append(piece(" " * (_CELL - len(shown))))
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


def _short(cell: Cell) -> str:
    cut = "~" if cell.is_truncated else ""
    if cell.error is not None:
        return _SHORT.get(cell.error, "error!") + cut
    return number(cell.reward) + cut
