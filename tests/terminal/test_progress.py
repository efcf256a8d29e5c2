"""Bars on a terminal, a line for slow work elsewhere, nothing when quiet."""

import errno
import io
import re
import threading
import time
from functools import partial
from typing import Any

import pyte
import pytest
from rich.live import Live

from prime_cli.terminal import live, progress
from prime_cli.terminal.output import Output
from prime_cli.terminal.progress import LineTask
from prime_cli.terminal.text import width
from tests.terminal.test_output import Terminal


def test_slow_work_is_named_once_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE_S", 0.0)
    err = io.StringIO()
    output = Output(out=io.StringIO(), err=err)
    with output.progress.task("Building wordle", total=3) as task:
        for thread in threading.enumerate():
            if isinstance(thread, threading.Timer):
                thread.join(5)
        task.advance()
    assert err.getvalue() == "Building wordle …\n"


def test_quick_work_is_not_mentioned() -> None:
    err = io.StringIO()
    with Output(out=io.StringIO(), err=err).progress.task("Building wordle") as task:
        task.advance()
    assert err.getvalue() == ""


class Clock:
    """Time that passes when the test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def line_task(clock: Clock, total: int | None = None) -> tuple[LineTask, list[str]]:
    said: list[str] = []
    return LineTask(said.append, clock, "wordle with gpt", total, "rollouts"), said


def test_long_work_says_every_half_minute_how_far_it_is() -> None:
    clock = Clock()
    task, said = line_task(clock)
    task.update(total=800)
    for _ in range(95):
        clock.now += 1
        task.advance(2)
        task.update(note="reward 0.512, 3 errors, $0.42")
    assert said == [
        "wordle with gpt: 60/800 rollouts, reward 0.512, 3 errors, $0.42",
        "wordle with gpt: 120/800 rollouts, reward 0.512, 3 errors, $0.42",
        "wordle with gpt: 180/800 rollouts, reward 0.512, 3 errors, $0.42",
    ]


def test_a_blocking_condition_is_reported_at_once_and_then_rarely() -> None:
    clock = Clock()
    task, said = line_task(clock, 800)
    for second in range(61):
        task.update(note="reward 0.5", alert="waiting on 429: 12 of 64" if second % 3 else "")
        clock.now += 1
    assert said == ["wordle with gpt: 0/800 rollouts, reward 0.5, waiting on 429: 12 of 64"] * 2


def test_unknown_work_has_no_line() -> None:
    clock = Clock()
    task, said = line_task(clock)
    clock.now += 100
    task.update(note="")
    assert said == []


@pytest.mark.parametrize("alerts", [["429"], ["429", ""]])
def test_a_bar_shows_an_alert_in_place_of_its_note(
    alerts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "xterm-256color")
    err = Terminal()
    with Output(out=io.StringIO(), err=err).progress.task("Evaluating", total=5) as task:
        task.update(note="rest")
        for alert in alerts:
            task.update(alert=alert)
    assert ("429" in err.getvalue()) == bool(alerts[-1])
    assert ("rest" in err.getvalue()) != bool(alerts[-1])


def test_a_bar_shows_count_and_note_and_lines_appear_above_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "xterm-256color")
    err = Terminal()
    output = Output(out=io.StringIO(), err=err)
    with output.progress.task("Evaluating", unit="rollouts") as task:
        task.update(total=15, note="reward 0.5")
        task.advance(3)
        output.say("resumed run a1")
    shown = err.getvalue()
    assert "Evaluating" in shown
    assert "3/15" in shown
    assert "reward 0.5" in shown
    assert "resumed run a1" in shown
    output.say("after")
    assert err.getvalue().endswith("after\x1b[0m\n")


def test_two_bars_share_the_display_and_the_last_one_ends_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "xterm-256color")
    err = Terminal()
    output = Output(out=io.StringIO(), err=err)
    with output.progress.task("Outer", total=1), output.progress.task("Inner", total=1) as inner:
        inner.advance()
    assert "Outer" in err.getvalue()
    assert "Inner" in err.getvalue()
    assert "\x1b[?25h" in err.getvalue()  # the cursor is back


def test_lines_above_quickly_drawn_bars_leave_none_of_them_on_the_screen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(live, "Display", partial(live.Display, refresh_per_second=500))
    find_place = Live.process_renderables

    def find_place_slowly(self: Live, drawn: list[Any]) -> list[Any]:
        placed = find_place(self, drawn)
        time.sleep(0.002)  # time for another thread to draw, as on a busy machine
        return placed

    monkeypatch.setattr(Live, "process_renderables", find_place_slowly)
    err = Terminal()
    output = Output(out=io.StringIO(), err=err)
    for number in range(10):
        with output.progress.task("Outer"):
            with output.progress.task("Inner"):
                output.say(f"inside {number}")
            output.say(f"behind {number}")
    screen = pyte.Screen(80, 60)
    pyte.Stream(screen).feed(err.getvalue().replace("\n", "\r\n"))
    shown = [line.rstrip() for line in screen.display]
    assert [line for line in shown if line] == [
        f"{where} {number}" for number in range(10) for where in ("inside", "behind")
    ]


@pytest.mark.parametrize("columns", [30, 40, 60, 80])
def test_counts_and_times_stay_whole_where_names_and_notes_do_not(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm-256color")
    err = Terminal()
    with Output(out=io.StringIO(), err=err).progress.task("漢字 " * 40, unit="rollouts") as task:
        task.update(total=500, note="a note " * 20)
        task.advance(30)
    lines = [
        re.sub(r"\x1b\[[?0-9;]*[a-zA-Z]", "", line) for line in re.split(r"[\r\n]+", err.getvalue())
    ]
    assert any("30/500" in line and "0:00:0" in line and "漢字" in line for line in lines)
    assert all(width(line) <= columns for line in lines)
    assert any("a note" in line for line in lines)


def test_a_note_without_room_beside_the_bar_has_a_line_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm-256color")
    err = Terminal()
    note = "reward 0.512, 12 errors, 2m 10s left, $0.2031, 1,812 tokens/s"
    with Output(out=io.StringIO(), err=err).progress.task("wordle with gpt-4.1-mini") as task:
        task.update(total=500, note="short")
        task.update(note=note)
    lines = [line.strip() for line in re.split(r"[\r\n]+|\x1b\[[?0-9;]*[a-zA-Z]", err.getvalue())]
    assert note in lines


def test_names_of_strangers_are_not_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    err = Terminal()
    name = "[/red][b].bundle\x1b[2J"
    with Output(out=io.StringIO(), err=err).progress.task(f"Writing {name}") as task:
        task.update(note="[/]")
    assert "Writing [/red][b].bundle[2J" in err.getvalue()
    assert "\x1b[2J" not in err.getvalue()


class Closed(Terminal):
    """A terminal whose window is gone after a while."""

    gone = False

    def write(self, text: str) -> int:
        if self.gone:
            raise OSError(errno.EIO, "Input/output error")
        return super().write(text)


def test_a_terminal_that_is_closed_ends_the_bars_and_not_the_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    err = Closed()
    output = Output(out=io.StringIO(), err=err)
    with output.progress.task("Running", total=3) as task:
        err.gone = True
        task.advance()
        output.warn("Stopping")
        task.advance()
    output.say("the end")
