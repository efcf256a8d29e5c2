"""Bars as a person sees them: there while something is done, and then gone."""

from pathlib import Path

from tests.helpers.terminal import Terminal

CURSOR_HIDDEN, CURSOR_SHOWN = b"\x1b[?25l", b"\x1b[?25h"


def watch(
    *argv: str,
    cwd: Path,
    shown: str | tuple[str, ...],
    columns: int = 80,
    code: int = 0,
    seconds: float = 60,
) -> Terminal:
    """Run `prime` until it has ended; each of `shown` was drawn on the way and is gone at the end.

    What is drawn is one line with a time in it, which is the last that is cut.
    """
    with Terminal(*argv, cwd=cwd, columns=columns) as terminal:
        assert terminal.end(seconds) == code, terminal.text
        assert terminal.is_clean
    for words in (shown,) if isinstance(shown, str) else shown:
        drawn = [line for line in lines(terminal) if line.startswith(words)]
        assert drawn, f"`{words}` was never shown:\n{terminal.text}"
        assert all("0:0" in line for line in drawn), drawn
        assert words not in terminal.text, terminal.text
    assert CURSOR_HIDDEN in terminal.written
    assert terminal.written.rfind(CURSOR_SHOWN) > terminal.written.rfind(CURSOR_HIDDEN)
    return terminal


def lines(terminal: Terminal) -> set[str]:
    """Every line that was ever seen."""
    return {line for screen in terminal.seen for line in screen.splitlines()}
