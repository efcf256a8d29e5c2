"""Two runs side by side: first their examples, then the rollouts of one."""

from collections.abc import Callable, Iterable
from typing import ClassVar

from rich.segment import Segment
from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widget import Widget

from prime_cli.core.errors import PrimeError
from prime_cli.core.formatting import format_difference, format_number
from prime_cli.terminal.viewer.page import PageText
from prime_cli.terminal.viewer.protocols import ExampleRow, RunPair
from prime_cli.terminal.viewer.rows import Rows, piece
from prime_cli.terminal.viewer.screen import (
    BAD,
    DIM,
    GOOD,
    Line,
    ViewerScreen,
    label,
    motion_keys,
    of_reward,
)

_NO_MORE = {1: "that was the last flip", -1: "that was the first flip"}


class PairScreen(ViewerScreen):
    """Mean rewards of each example in both runs."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "flip(1)", "Next flip"),
        Binding("p", "flip(-1)", "Previous flip"),
    ]

    def __init__(self, pair: RunPair) -> None:
        super().__init__()
        self._pair = pair

    def parts(self) -> Iterable[Widget]:
        yield label("names")
        yield Rows(self._line, id="pairs")

    def on_mount(self) -> None:
        pair = self._pair
        titles = dict.fromkeys((pair.first.title, pair.other.title))
        self.say("title", " | ".join(titles))
        self.say(
            "facts",
            f"A {pair.first.name}: {pair.first.lines[0]}",
            f"B {pair.other.name}: {pair.other.lines[0]}",
            f"{len(pair):,} compared · {pair.better:,} better in B · {pair.worse:,} worse in B",
        )
        self.name_columns(f"{'example':>9}{'A':>9}{'B':>9}{'B - A':>9}")
        rows = self.query_one(Rows)
        rows.show(len(pair))
        rows.focus()

    def _line(self, index: int) -> Line:
        row = self._pair.row(index)
        difference = row.difference or 0.0
        return [
            piece(f"{row.example_id:>9}"),
            *(_side(side) for side in (row.first, row.other)),
            *_difference(difference, is_flip=row.is_flip),
        ]

    def action_flip(self, step: int) -> None:
        """Go to the next or previous example whose reward differs."""
        rows = self.query_one(Rows)
        index = self._pair.flip(rows.cursor, step)
        self.say("status", _NO_MORE[step] if index is None else "")
        if index is not None:
            rows.move_to(index)

    @on(Rows.Chosen)
    def _open(self, event: Rows.Chosen) -> None:
        self.app.push_screen(SideBySide(self._pair, event.index, self._went_to))

    def _went_to(self, index: int) -> None:
        self.query_one(Rows).move_to(index)


class SideBySide(ViewerScreen):
    """One rollout of one example in both runs, scrolled together."""

    DEFAULT_CSS = """
    SideBySide PageText { width: 1fr; }
    SideBySide #other { border-left: solid $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "flip(1)", "Next flip"),
        Binding("p", "flip(-1)", "Previous flip"),
        Binding("right,l", "rollout(1)", "Next rollout"),
        Binding("left,h", "rollout(-1)", "Rollout before"),
        # Before the side that has the focus sees them.
        *motion_keys("both('{}', {})", ("Beginning", "End"), priority=True),
    ]

    def __init__(self, pair: RunPair, index: int, went_to: Callable[[int], None]) -> None:
        super().__init__()
        self._pair = pair
        self._index = index
        self._went_to = went_to
        self._turn = 0

    def parts(self) -> Iterable[Widget]:
        yield Horizontal(PageText(id="first"), PageText(id="other"))

    def on_mount(self) -> None:
        self.query_one("#first", PageText).focus()
        self._read()

    def _read(self) -> None:
        rollouts = self._pair.rollouts(self._index)
        rollout = rollouts[min(self._turn, len(rollouts) - 1)]
        row = self._pair.row(self._index)
        try:
            pages = self._pair.pages(self._index, rollout)
        except PrimeError as failure:
            self.fail(failure)
            return
        self.say("title", f"example {row.example_id}, rollout {rollout} ({len(rollouts)} of them)")
        self.say(
            "facts",
            f"A {self._pair.first.name}: mean {_mean(row.first)} · {self._pair.first.title}",
            f"B {self._pair.other.name}: mean {_mean(row.other)} · {self._pair.other.title}",
        )
        self.say("status", "")
        for name, page in zip(("first", "other"), pages, strict=True):
            self.query_one(f"#{name}", PageText).fill(page.blocks if page else ())
            if page is None:
                self.say("status", f"{'A' if name == 'first' else 'B'} has no such rollout")

    def action_both(self, action: str, step: int) -> None:
        """Scroll both sides."""
        for text in self.query(PageText):
            getattr(text, f"action_{action}")(step)

    def action_rollout(self, step: int) -> None:
        """Go to another rollout of the example."""
        most = len(self._pair.rollouts(self._index)) - 1
        self._turn = max(0, min(min(self._turn, most) + step, most))
        self._read()

    def action_flip(self, step: int) -> None:
        """Go to the next or previous example whose reward differs."""
        index = self._pair.flip(self._index, step)
        if index is None:
            self.say("status", _NO_MORE[step])
            return
        self._index, self._turn = index, 0
        self._went_to(index)
        self._read()


def _mean(row: ExampleRow | None) -> str:
    return format_number(row.mean, "error") if row else "-"


def _side(row: ExampleRow | None) -> Segment:
    return piece(f"{_mean(row):>9}", of_reward(row.mean) if row else DIM)


def _difference(difference: float, *, is_flip: bool) -> Line:
    if not is_flip:
        return [piece(f"{'=':>9}", DIM)]
    style, word = (GOOD, "better") if difference > 0 else (BAD, "worse")
    return [piece(f"{format_difference(difference):>9}  {word}", style)]
