"""The text of one rollout, which may be long: wrapped once for each width of the screen."""

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from prime_cli.terminal.viewer.protocols import Block
from prime_cli.terminal.viewer.rows import piece
from prime_cli.terminal.viewer.screen import (
    LABELS,
    PLAIN,
    Line,
    motion_keys,
    one_line,
    printable,
    wrapped,
)

_LABELS_UP_TO = 28
_INDENT = 2


class PageText(ScrollView, can_focus=True, inherit_bindings=False):
    """Blocks of text, scrolled by line, by page and by turn."""

    DEFAULT_CSS = "PageText { height: 1fr; overflow-x: hidden; }"
    BINDINGS: ClassVar[list[BindingType]] = motion_keys("{}({})", ("Beginning", "End"))

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._blocks: Sequence[Block] = ()
        self._lines: list[Line] = []
        self._turns: list[int] = []

    def fill(self, blocks: Sequence[Block]) -> None:
        """Show these, from their beginning."""
        self._blocks = blocks
        self._wrap()
        self.scroll_to(y=0, animate=False)

    @property
    def text(self) -> str:
        """All lines as they are shown."""
        return "\n".join("".join(part.text for part in line) for line in self._lines)

    def _wrap(self) -> None:
        width = max(20, self.size.width - self.styles.scrollbar_size_vertical)
        self._lines, self._turns = [], []
        labels = (len(one_line(block.label)) + 3 for block in self._blocks if _is_fact(block))
        size = min(max(labels, default=0), _LABELS_UP_TO, width * 2 // 5)
        for block in self._blocks:
            if _is_fact(block):
                self._lines.extend(_fact(block, size, width))
            else:
                self._turns.append(len(self._lines))
                self._lines.extend(_passage(block, width))
        self.virtual_size = Size(0, len(self._lines))
        self.refresh()

    def on_resize(self, _event: events.Resize) -> None:
        self._wrap()

    def render_line(self, y: int) -> Strip:
        index, width = y + self.scroll_offset.y, self.scrollable_content_region.width
        if index >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        style = self.rich_style
        line = [Segment(text, style + (own or PLAIN)) for text, own, _ in self._lines[index]]
        return Strip(line).adjust_cell_length(width, style).crop(0, width)

    def action_move(self, lines: int) -> None:
        self.scroll_to(y=self.scroll_y + lines, animate=False)

    def action_page(self, pages: int) -> None:
        self.action_move(pages * max(1, self.size.height - 2))

    def action_edge(self, step: int) -> None:
        self.scroll_to(y=0 if step < 0 else len(self._lines), animate=False)

    def jump(self, step: int) -> None:
        """Go to the next (1) or the previous (-1) turn."""
        top = round(self.scroll_y)
        if step > 0:
            index = next((turn for turn in self._turns if turn > top), None)
        else:
            index = next((turn for turn in reversed(self._turns) if turn < top), 0)
        if index is not None:
            self.scroll_to(y=index, animate=False)


def _is_fact(block: Block) -> bool:
    return block.kind == "fact" and "\n" not in block.text


def _fact(block: Block, size: int, width: int) -> list[Line]:
    indent = " " * _INDENT if block.label.startswith(" ") else ""
    label = (indent + one_line(block.label))[: size - 1]
    lines = list(wrapped(printable(block.text), width - size))
    heads = [label, *[""] * (len(lines) - 1)]
    return [
        [piece(f"{head:<{size}}", LABELS["fact"]), piece(line)]
        for head, line in zip(heads, lines, strict=True)
    ]


def _passage(block: Block, width: int) -> list[Line]:
    label = one_line(block.label)[: width - 6]
    style = LABELS.get(block.kind, PLAIN)
    head = [piece(f"{label} ", style), piece("─" * (width - len(label) - 1), LABELS["fact"])]
    text = printable(block.text).rstrip("\n")
    body = [[piece(" " * _INDENT + line)] for line in wrapped(text, width - _INDENT)]
    return [[piece("")], head, *body]
