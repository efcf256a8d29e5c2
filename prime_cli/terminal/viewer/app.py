"""The app: which screen comes first."""

from typing import ClassVar

from textual.app import App
from textual.binding import Binding, BindingType

from prime_cli.terminal.viewer.paired import PairScreen
from prime_cli.terminal.viewer.run import RunScreen
from prime_cli.terminal.viewer.runs import RunsScreen
from prime_cli.terminal.viewer.screen import ViewerScreen
from prime_cli.terminal.viewer.shown import Run, RunPair, Runs


class Viewer(App[None]):
    """Begins with the list of `runs`, one `run`, or a `pair` of them."""

    TITLE = "prime eval view"
    ENABLE_COMMAND_PALETTE = False
    # Here and not with the screens', so that they come last at the foot.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,backspace", "screen.back", "Back"),
        Binding("q", "quit", "Quit"),
    ]

    def __init__(
        self, *, runs: Runs | None = None, run: Run | None = None, pair: RunPair | None = None
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
            raise TypeError("there is nothing to show")

    def on_mount(self) -> None:
        self._first.is_first = True
        self.push_screen(self._first)


def show_runs(runs: Runs) -> None:
    """Let the user look around in `runs` until they leave."""
    Viewer(runs=runs).run()


def show_run(run: Run) -> None:
    """Let the user look at one run."""
    Viewer(run=run).run()


def show_pair(pair: RunPair) -> None:
    """Let the user look at two runs side by side."""
    Viewer(pair=pair).run()
