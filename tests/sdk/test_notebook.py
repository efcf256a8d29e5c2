"""Bars in the cells of a notebook."""

from collections.abc import Callable

from prime_cli.core.progress import Silent
from prime_cli.sdk.notebook import NotebookProgress, default_progress


class Cell:
    """What is shown below a cell, piece by piece."""

    def __init__(self) -> None:
        self.now = 0.0
        self.shown: list[str] = []

    def show(self, html: str) -> Callable[[str], None]:
        self.shown.append(html)
        place = len(self.shown) - 1

        def replace(changed: str) -> None:
            self.shown[place] = changed

        return replace


def test_a_bar_is_drawn_while_the_work_is_done_and_then_goes() -> None:
    cell = Cell()
    progress = NotebookProgress(cell.show, lambda: cell.now)
    with progress.task("<b>wordle</b>", unit="rollouts") as task:
        assert cell.shown == ["<div>&lt;b&gt;wordle&lt;/b&gt; <progress></progress> </div>"]
        cell.now = 1.0
        task.update(total=4, note="reward 0.5 & more")
        assert '<progress max="4" value="0"></progress>' in cell.shown[0]
        assert "0/4 rollouts, reward 0.5 &amp; more" in cell.shown[0]
        task.advance()  # too soon to be drawn
        assert "0/4" in cell.shown[0]
        task.advance(3)
        assert "4/4 rollouts" in cell.shown[0]
        progress.say("x < y")
        progress.warn("careful", hint="do <this>")
    assert cell.shown == [
        "",
        "<div>x &lt; y</div>",
        "<div><b>careful</b> (do &lt;this&gt;)</div>",
    ]


def test_bytes_are_shown_as_people_read_them() -> None:
    cell = Cell()
    with NotebookProgress(cell.show).task("Downloading", total=3_200_000, unit="bytes"):
        assert cell.shown[0].endswith("</progress> 0 B/3.2 MB</div>")


def test_a_program_that_is_no_notebook_is_shown_nothing() -> None:
    assert isinstance(default_progress(), Silent)
