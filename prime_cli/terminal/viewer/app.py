"""The Textual app."""

from typing import ClassVar

from textual.app import App
from textual.binding import Binding, BindingType

from prime_cli.terminal.viewer.pair import PairScreen
from prime_cli.terminal.viewer.protocols import OpenRun, RunPair, Runs
from prime_cli.terminal.viewer.run import RunScreen
from prime_cli.terminal.viewer.runs import RunsScreen
from prime_cli.terminal.viewer.screen import ViewerScreen


class Viewer(App[None]):
    """Begins with the list of `runs`, one `run`, or a `pair` of them."""

    TITLE = "prime eval view"
    ENABLE_COMMAND_PALETTE = False
    # On the app, so that they come last in the footer.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,backspace", "screen.back", "Back"),
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


def show_runs(runs: Runs) -> None:
    """Browse `runs` until the user leaves."""
    Viewer(runs=runs).run()


def show_run(run: OpenRun) -> None:
    """Browse one run."""
    Viewer(run=run).run()


def show_pair(pair: RunPair) -> None:
    """Browse two runs side by side."""
    Viewer(pair=pair).run()
