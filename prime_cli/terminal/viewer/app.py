"""The Textual app, and its first screen: every run, by environment and model."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import monotonic
from typing import ClassVar

from textual import on, work
from textual.app import App
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widget import Widget
from textual.widgets import HelpPanel
from textual.worker import get_current_worker

from prime_cli.core.errors import PrimeError
from prime_cli.core.formatting import format_number, format_share, format_size, pluralize
from prime_cli.terminal.text import age
from prime_cli.terminal.viewer.pair import PairScreen
from prime_cli.terminal.viewer.protocols import OpenRun, RunGroup, RunLine, RunPair, Runs
from prime_cli.terminal.viewer.rows import Rows, piece
from prime_cli.terminal.viewer.run import RunScreen
from prime_cli.terminal.viewer.screen import (
    BOLD,
    DIM,
    GOOD,
    Line,
    ReadFailed,
    ViewerScreen,
    of_reward,
    one_line,
)

_EVERY = 2.0
"""Seconds between checks for new runs; more for very many runs."""
_SHARE = 10


class RunsScreen(ViewerScreen):
    """Groups of runs; Enter opens one, two that are marked are compared."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("c", "mark", "Compare two")]

    class Listed(Message):
        """The list of runs was read."""

        def __init__(self, groups: Sequence[RunGroup], seconds: float) -> None:
            super().__init__()
            self.groups, self.seconds = groups, seconds

    class Ready(Message):
        """The screen that was requested can be shown."""

        def __init__(self, make: Callable[[], ViewerScreen]) -> None:
            super().__init__()
            self.make = make

    def __init__(self, runs: Runs) -> None:
        super().__init__()
        self._runs = runs
        self._listed: list[tuple[RunGroup, RunLine | None]] = []
        self._marked: str | None = None

    def parts(self) -> Iterable[Widget]:
        yield Rows(self._line, is_head=lambda index: self._path_at(index) is None, id="runs")

    def on_mount(self) -> None:
        self.say("title", "Evaluations saved here")
        self.say("status", "reading …")
        self._list()

    @work(thread=True, exclusive=True, group="list")
    def _list(self) -> None:
        worker = get_current_worker()
        began = monotonic()
        groups = self._runs.groups()
        if not worker.is_cancelled:
            self.post_message(self.Listed(groups, monotonic() - began))

    def _list_if_seen(self) -> None:
        if self.is_current:
            self._list()
        else:
            self.set_timer(_EVERY, self._list_if_seen)

    def on_runs_screen_listed(self, event: Listed) -> None:
        rows = self.query_one(Rows)
        key, last = self._key_at(rows.cursor), rows.cursor
        is_first, self._listed = not self._listed, []
        for group in event.groups:
            self._listed.extend((group, run) for run in (None, *group.runs))
        keys = [self._key_at(index) for index in range(len(self._listed))]
        # A row that is gone leaves the cursor where it was.
        cursor = keys.index(key) if key in keys else min(last, len(keys))
        rows.follow(len(self._listed), cursor)
        count = sum(len(group.runs) for group in event.groups)
        self.say("facts", f"{pluralize(count, 'run')} by environment and model")
        if is_first:
            nothing = "none yet: create one with `prime eval run starter/alphabet-sort`"
            self.say("status", "" if count else nothing)
        self.set_timer(max(_EVERY, _SHARE * event.seconds), self._list_if_seen)

    def _key_at(self, index: int) -> tuple[str, ...]:
        """What row `index` is, whatever is above it: a run by its folder, else a group's head."""
        if index >= len(self._listed):
            return ()
        group, run = self._listed[index]
        return (run.path,) if run else (group.environment, group.model)

    def _path_at(self, index: int) -> str | None:
        """The folder of the run in row `index`; None for the head of a group."""
        run = self._listed[index][1] if index < len(self._listed) else None
        return run.path if run else None

    def _line(self, index: int) -> Line:
        group, run = self._listed[index]
        if run is None:
            return [piece(f"{one_line(group.environment)} with {one_line(group.model)}", BOLD)]
        return _run_line(run, is_marked=run.path == self._marked)

    @on(Rows.Chosen)
    def _open(self, event: Rows.Chosen) -> None:
        path = self._path_at(event.index)
        if path is not None:
            self.say("status", "opening …")
            self._read(Path(path))

    def action_mark(self) -> None:
        """Mark a run; with another one marked, compare the two."""
        path = self._path_at(self.query_one(Rows).cursor)
        if path is None:
            return
        if self._marked is None or self._marked == path:
            self._marked = None if self._marked else path
            prompt = "now choose the other run and press c again" if self._marked else ""
            self.say("status", prompt)
        else:
            self.say("status", "comparing …")
            self._read(Path(self._marked), Path(path))
            self._marked = None
        self.query_one(Rows).refresh()

    @work(thread=True, exclusive=True, group="open")
    def _read(self, path: Path, other: Path | None = None) -> None:
        worker = get_current_worker()
        try:
            make = self._reading(path, other)
        except PrimeError as failure:
            self.post_message(ReadFailed(failure))
            return
        if not worker.is_cancelled:
            self.post_message(self.Ready(make))

    def _reading(self, path: Path, other: Path | None) -> Callable[[], ViewerScreen]:
        if other is None:
            return partial(RunScreen, self._runs.open(path))
        return partial(PairScreen, self._runs.pair(path, other))

    def on_runs_screen_ready(self, event: Ready) -> None:
        self.say("status", "")
        self.app.push_screen(event.make())


def _run_line(run: RunLine, *, is_marked: bool) -> Line:
    size = run.progress or format_size(run.num_examples, run.rollouts_per_example)
    size += f", {one_line(run.shard)}" if run.shard else ""
    errors = f"{format_share(run.errors)} errors" if run.errors else ""
    reward_style = DIM if run.reward is None else of_reward(run.reward)
    return [
        piece(" * " if is_marked else "   ", GOOD),
        piece(f"{_own_part(run.run_id)[:12]:<13}"),
        piece(f"{format_number(run.reward, '-'):>7}  ", reward_style),
        piece(f"{size + ' ':<12}"),
        piece(f"{one_line(run.status):<12}", GOOD if run.status == "running" else DIM),
        piece(f"{age(one_line(run.date), datetime.now(UTC)):<14}", DIM),
        piece(errors, DIM),
    ]


def _own_part(run_id: str) -> str:
    """What sets a run apart: the v1 evaluator begins its ids with environment and model."""
    return one_line(run_id).rpartition("--")[2]


class Viewer(App[None]):
    """Begins with the list of `runs`, one `run`, or a `pair` of them."""

    TITLE = "prime eval view"
    ENABLE_COMMAND_PALETTE = False
    # On the app, so that they come last in the footer.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,backspace", "back", "Back"),
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("q", "quit", "Quit"),
    ]

    def __init__(
        self, *, runs: Runs | None = None, run: OpenRun | None = None, pair: RunPair | None = None
    ) -> None:
        super().__init__()
        self._first: ViewerScreen
        if pair is not None:
            self._first = PairScreen(pair)
        elif run is not None:
            self._first = RunScreen(run)
        elif runs is not None:
            self._first = RunsScreen(runs)
        else:
            raise TypeError("one of runs, run and pair is required")

    def on_mount(self) -> None:
        self._first.is_first = True
        self.push_screen(self._first)

    def action_help(self) -> None:
        """Show every key that works now, or hide them again."""
        if self.screen.query(HelpPanel):
            self.action_hide_help_panel()
        else:
            self.action_show_help_panel()

    async def action_back(self) -> None:
        """Close the help, else leave the screen."""
        if self.screen.query(HelpPanel):
            self.action_hide_help_panel()
        elif isinstance(self.screen, ViewerScreen):
            self.screen.action_back()


def show_runs(runs: Runs) -> None:
    """Browse `runs` until the user leaves."""
    Viewer(runs=runs).run()


def show_run(run: OpenRun) -> None:
    """Browse one run."""
    Viewer(run=run).run()


def show_pair(pair: RunPair) -> None:
    """Browse two runs side by side."""
    Viewer(pair=pair).run()
