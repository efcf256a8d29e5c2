"""One run: its summary, and its examples by rollouts under a filter."""

from collections.abc import Iterable
from typing import ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input
from textual.worker import get_current_worker

from prime_cli.core.errors import PrimeError
from prime_cli.terminal.viewer.grid import Grid
from prime_cli.terminal.viewer.rollout import RolloutScreen
from prime_cli.terminal.viewer.screen import Failed, ViewerScreen, label
from prime_cli.terminal.viewer.shown import Finding, Run

_EVERY = 1.0
"""Seconds between two looks for more of the run."""
_ASKED = {
    "text": "text in any message",
    "reward": "reward, as 0.5 or >0.5 or 0..0.5 or none",
}


class RunScreen(ViewerScreen):
    """The grid of a run."""

    DEFAULT_CSS = "RunScreen #question { display: none; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "ask('text')", "Text"),
        Binding("r", "ask('reward')", "Reward"),
        Binding("e", "errors", "Errors"),
        Binding("x", "clear", "All"),
    ]

    class Found(Message):
        """A search came that far."""

        def __init__(self, finding: Finding) -> None:
            super().__init__()
            self.finding = finding

    def __init__(self, run: Run) -> None:
        super().__init__()
        self._run = run
        self._finding: Finding | None = None
        self._wanted = {"text": "", "reward": ""}
        self._only_errors = False
        self._asked = ""

    def parts(self) -> Iterable[Widget]:
        yield label("names")
        yield Grid()
        yield Input(id="question", compact=True)

    def on_mount(self) -> None:
        self._head()
        self.query_one(Grid).focus()
        self._show(self._run.advance())
        self.set_interval(_EVERY, self._tick)

    def _head(self) -> None:
        self.say("title", f"{self._run.title}  {self._run.name}")
        self.say("facts", *self._run.lines)

    def _tick(self) -> None:
        # Also of a run that has ended: it may be resumed.
        if self._finding is None or self._finding.is_done:
            self._follow(refresh=True)

    @work(thread=True, exclusive=True, group="search")
    def _follow(self, *, refresh: bool = False) -> None:
        worker = get_current_worker()
        try:
            is_new = not refresh or self._run.refresh()
            # Also when nothing came: this may have taken the place of a search that went on.
            while not worker.is_cancelled:
                finding = self._run.advance()
                if (is_new or finding != self._finding) and not worker.is_cancelled:
                    self.post_message(self.Found(finding))
                if finding.is_done:
                    return
        except PrimeError as failure:
            self.post_message(Failed(failure))

    def on_run_screen_found(self, event: Found) -> None:
        self._show(event.finding)

    def _show(self, finding: Finding) -> None:
        self._finding = finding
        self._head()
        self.query_one(Grid).fill(finding.grid)
        self.say("status", self._told(finding))

    @on(Grid.Scrolled)
    def _name_columns(self) -> None:
        self.name_columns(self.query_one(Grid).header)

    def _told(self, finding: Finding) -> str:
        wanted = [f"reward {self._wanted['reward']}" if self._wanted["reward"] else ""]
        wanted.append("errors" if self._only_errors else "")
        wanted.append(f"text {self._wanted['text']}" if self._wanted["text"] else "")
        told = " and ".join(part for part in wanted if part)
        if not told:
            return "live" if self._run.is_live else ""
        count = finding.grid.matches
        found = f"{count:,} rollout{'' if count == 1 else 's'} with {told}"
        if not finding.is_done:
            found += f" · searched {finding.searched:,} of {finding.total:,} …"
        return found

    def action_ask(self, what: str) -> None:
        """Open the question about one part of the filter."""
        self._asked = what
        question = self.query_one("#question", Input)
        question.value = self._wanted[what]
        question.display = True
        # At once: what is typed next is the answer.
        self.set_focus(question)
        self.say("status", f"{_ASKED[what]} (Enter applies, Escape leaves it)")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self._close_question()
        self._apply({**self._wanted, self._asked: event.value}, errors=self._only_errors)

    def action_errors(self) -> None:
        """Only errors, or all again."""
        self._apply(self._wanted, errors=not self._only_errors)

    def action_clear(self) -> None:
        """Take every filter away."""
        self._apply({"text": "", "reward": ""}, errors=False)

    def _apply(self, wanted: dict[str, str], *, errors: bool) -> None:
        try:
            self._run.filter(errors=errors, **wanted)
        except PrimeError as failure:
            self.fail(failure)
            return
        self._wanted, self._only_errors = wanted, errors
        self._follow()

    def action_back(self) -> None:
        """Close the question, else drop the filter, else leave."""
        if self.query_one("#question").display:
            self._close_question()
        elif self._only_errors or any(self._wanted.values()):
            self.action_clear()
        else:
            super().action_back()

    def _close_question(self) -> None:
        self.query_one("#question").display = False
        self.query_one(Grid).focus()
        if self._finding is not None:
            self.say("status", self._told(self._finding))

    @on(Grid.Opened)
    def _open(self, event: Grid.Opened) -> None:
        self.app.push_screen(RolloutScreen(self._run, event.number, self._neighbour))

    def _neighbour(self, number: int, step: int) -> int | None:
        return self._finding.grid.neighbour(number, step) if self._finding else None
