"""Progress in a notebook: a bar in the cell's output, without a package besides IPython."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from prime_cli.core.formatting import count_text
from prime_cli.core.progress import Progress, Silent, Task

_EVERY = 0.2
"""Seconds between two drawings of a bar."""

Show = Callable[[str], Callable[[str], None]]
"""Shows HTML, and returns what replaces it."""


def default_progress() -> Progress:
    """Bars in a notebook, else nothing."""
    return NotebookProgress() if in_notebook() else Silent()


def in_notebook() -> bool:
    """Whether this is a kernel of Jupyter, whose cells show HTML."""
    shell = sys.modules.get("IPython")  # a kernel has imported it
    current = shell.get_ipython() if shell is not None else None
    return current is not None and hasattr(current, "kernel")


def show_html(html: str) -> Callable[[str], None]:
    """Show `html` below the cell; the function that comes back replaces it."""
    from IPython.display import HTML, display

    handle = display(HTML(html), display_id=True)
    return lambda changed: handle.update(HTML(changed))


class NotebookProgress:
    """A Progress that draws into the cell; sentences stay, bars go when their work has ended."""

    def __init__(self, show: Show = show_html, clock: Callable[[], float] = time.monotonic) -> None:
        self._show = show
        self._clock = clock

    @contextmanager
    def task(
        self, description: str, *, total: int | None = None, unit: str = "items"
    ) -> Iterator[Task]:
        """A bar while the context is open."""
        bar = _Bar(description, total, unit, self._show, self._clock)
        try:
            yield bar
        finally:
            bar.end()

    def say(self, message: str) -> None:
        """One line."""
        self._show(f"<div>{escape(message)}</div>")

    def warn(self, message: str, *, hint: str | None = None) -> None:
        """One line in bold, and its hint."""
        told = f" ({escape(hint)})" if hint else ""
        self._show(f"<div><b>{escape(message)}</b>{told}</div>")


class _Bar:
    def __init__(
        self,
        description: str,
        total: int | None,
        unit: str,
        show: Show,
        clock: Callable[[], float],
    ) -> None:
        self._description = description
        self._total = total
        self._unit = unit
        self._done = 0
        self._note = self._alert = ""
        self._clock = clock
        self._replace = show(self._html())
        self._due = clock() + _EVERY

    def advance(self, amount: int = 1) -> None:
        self._done += amount
        self._draw()

    def update(
        self, *, total: int | None = None, note: str | None = None, alert: str | None = None
    ) -> None:
        self._total = self._total if total is None else total
        self._note = self._note if note is None else note
        self._alert = self._alert if alert is None else alert
        self._draw()

    def end(self) -> None:
        self._replace("")

    def _draw(self) -> None:
        is_last = self._total is not None and self._done >= self._total
        if is_last or self._clock() >= self._due:
            self._due = self._clock() + _EVERY
            self._replace(self._html())

    def _html(self) -> str:
        values: dict[str, Any] = {"max": self._total, "value": self._done} if self._total else {}
        shown = "".join(f' {name}="{value}"' for name, value in values.items())
        count = count_text(self._done, self._total, self._unit) if self._total else ""
        count += f" {self._unit}" if count and self._unit != "bytes" else ""
        words = ", ".join(word for word in (count, self._alert or self._note) if word)
        return (
            f"<div>{escape(self._description)} <progress{shown}></progress> {escape(words)}</div>"
        )
