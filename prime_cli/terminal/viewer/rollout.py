"""One rollout: what it came to, and every turn."""

from collections.abc import Callable, Iterable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from prime_cli.core.errors import PrimeError
from prime_cli.terminal.viewer.page import PageText
from prime_cli.terminal.viewer.screen import ViewerScreen
from prime_cli.terminal.viewer.shown import Run


class RolloutScreen(ViewerScreen):
    """The text of a rollout; `neighbour` names the next one that the filter lets through."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n,right", "other(1)", "Next"),
        Binding("p,left", "other(-1)", "Previous"),
        Binding("right_square_bracket,tab", "turn(1)", "Next turn", key_display="]"),
        Binding("left_square_bracket,shift+tab", "turn(-1)", "Turn before", key_display="["),
    ]

    def __init__(self, run: Run, number: int, neighbour: Callable[[int, int], int | None]) -> None:
        super().__init__()
        self._run = run
        self._number = number
        self._neighbour = neighbour

    def parts(self) -> Iterable[Widget]:
        yield PageText()

    def on_mount(self) -> None:
        self.query_one(PageText).focus()
        self.say("facts", self._run.title)
        self._read()

    def _read(self) -> None:
        try:
            page = self._run.page(self._number)
        except PrimeError as failure:
            self.fail(failure)
            return
        self.say("title", f"{page.title}  {self._run.name}")
        self.say("status", "")
        self.query_one(PageText).fill(page.blocks)

    def action_other(self, step: int) -> None:
        """Go to the next or previous rollout."""
        number = self._neighbour(self._number, step)
        if number is None:
            self.say("status", "that was the last one" if step > 0 else "that was the first one")
            return
        self._number = number
        self._read()

    def action_turn(self, step: int) -> None:
        """Scroll to the next or previous turn."""
        self.query_one(PageText).jump(step)
