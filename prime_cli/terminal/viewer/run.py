"""The screens of a run: its examples by rollouts under a filter, and one rollout."""

from collections.abc import Callable, Iterable
from typing import ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input
from textual.worker import get_current_worker

from prime_cli.core.errors import PrimeError
from prime_cli.core.formatting import pluralize
from prime_cli.runs.outcomes import OUTCOMES
from prime_cli.terminal.viewer.page import PageText
from prime_cli.terminal.viewer.protocols import OpenRun, SearchState
from prime_cli.terminal.viewer.rows import RolloutGrid
from prime_cli.terminal.viewer.screen import ReadFailed, ViewerScreen, label

_EVERY = 1.0
"""Seconds between checks for new rollouts."""
_QUESTIONS = {
    "text": "text in any message",
    "reward": "reward, as 0.5 or >0.5 or 0..0.5 or none",
    "step": "step of the training, as 3 or >=10 or 10..20",
    "only": " or ".join(OUTCOMES),
}
_NO_FILTER = dict.fromkeys(_QUESTIONS, "")


class RunScreen(ViewerScreen):
    """The grid of a run."""

    DEFAULT_CSS = "RunScreen #question { display: none; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "ask('text')", "Text"),
        Binding("r", "ask('reward')", "Reward"),
        Binding("s", "ask('step')", "Step"),
        Binding("e", "errors", "Errors"),
        Binding("o", "ask('only')", "Only"),
        Binding("x", "clear", "All"),
    ]

    class Found(Message):
        """A search has made progress."""

        def __init__(self, finding: SearchState) -> None:
            super().__init__()
            self.finding = finding

    def __init__(self, run: OpenRun) -> None:
        super().__init__()
        self._run = run
        self._finding: SearchState | None = None
        self._filter = _NO_FILTER
        self._question = ""

    def parts(self) -> Iterable[Widget]:
        yield label("names")
        yield RolloutGrid()
        yield Input(id="question", compact=True)

    def on_mount(self) -> None:
        self.query_one(RolloutGrid).focus()
        self._show(self._run.advance())
        self.set_interval(_EVERY, self._tick)

    def _tick(self) -> None:
        # Also of a run that has ended: it may be resumed.
        if self._finding is None or self._finding.is_done:
            self._follow(refresh=True)

    @work(thread=True, exclusive=True, group="search")
    def _follow(self, *, refresh: bool = False) -> None:
        worker = get_current_worker()
        try:
            is_new = not refresh or self._run.refresh()
            # Also when nothing came: this may have taken the index of a search that went on.
            while not worker.is_cancelled:
                finding = self._run.advance()
                if (is_new or finding != self._finding) and not worker.is_cancelled:
                    self.post_message(self.Found(finding))
                if finding.is_done:
                    return
        except PrimeError as failure:
            self.post_message(ReadFailed(failure))

    def on_run_screen_found(self, event: Found) -> None:
        self._show(event.finding)

    def _show(self, finding: SearchState) -> None:
        self._finding = finding
        self.say("title", f"{self._run.title}  {self._run.name}")
        self.say("facts", *finding.lines)
        self.refresh_bindings()  # the first rollout may have come, and with it the steps
        self.query_one(RolloutGrid).fill(finding.grid)
        self.say("status", self._status(finding))

    @on(RolloutGrid.Scrolled)
    def _name_columns(self) -> None:
        self.name_columns(self.query_one(RolloutGrid).header)

    def _status(self, finding: SearchState) -> str:
        shown = {name: f"{name} {typed}" for name, typed in self._filter.items() if typed}
        if not shown:
            return "live" if self._run.is_live else ""
        filtered = " and ".join(shown[name] for name in ("step", "reward", "text") if name in shown)
        found = pluralize(finding.grid.matches, f"{self._filter['only']} rollout".lstrip())
        found += f" with {filtered}" if filtered else ""
        if not finding.is_done:
            found += f" · searched {finding.searched:,} of {finding.total:,} …"
        return found

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer a filter by step for the rollouts of a training alone."""
        return (action, parameters) != ("ask", ("step",)) or self._run.has_steps

    def action_ask(self, what: str) -> None:
        """Open the question about one part of the filter."""
        self._question = what
        question = self.query_one("#question", Input)
        question.value = self._filter[what]
        question.display = True
        # At once: what is typed next is the answer.
        self.set_focus(question)
        self.say("status", f"{_QUESTIONS[what]} (Enter applies, Escape cancels)")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self._close_question()
        self._apply({**self._filter, self._question: event.value})

    def action_errors(self) -> None:
        """Only errors, or all again."""
        is_on = self._filter["only"] == "errored"
        self._apply({**self._filter, "only": "" if is_on else "errored"})

    def action_clear(self) -> None:
        """Remove every filter."""
        self._apply(_NO_FILTER)

    def _apply(self, criteria: dict[str, str]) -> None:
        try:
            self._run.filter(**criteria)
        except PrimeError as failure:
            self.fail(failure)
            return
        self._filter = criteria
        self._follow()

    def action_back(self) -> None:
        """Close the question, else drop the filter, else leave."""
        if self.query_one("#question").display:
            self._close_question()
        elif any(self._filter.values()):
            self.action_clear()
        else:
            super().action_back()

    def _close_question(self) -> None:
        self.query_one("#question").display = False
        self.query_one(RolloutGrid).focus()
        if self._finding is not None:
            self.say("status", self._status(self._finding))

    @on(RolloutGrid.Opened)
    def _open(self, event: RolloutGrid.Opened) -> None:
        self.app.push_screen(RolloutScreen(self._run, event.number, self._neighbour))

    def _neighbour(self, number: int, step: int) -> int | None:
        return self._finding.grid.neighbour(number, step) if self._finding else None


class RolloutScreen(ViewerScreen):
    """The text of a rollout; `neighbour` names the next one that the filter lets through."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n,right", "other(1)", "Next"),
        Binding("p,left", "other(-1)", "Previous"),
        Binding("right_square_bracket,tab", "turn(1)", "Next turn", key_display="]"),
        Binding("left_square_bracket,shift+tab", "turn(-1)", "Previous turn", key_display="["),
    ]

    def __init__(
        self, run: OpenRun, number: int, neighbour: Callable[[int, int], int | None]
    ) -> None:
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
