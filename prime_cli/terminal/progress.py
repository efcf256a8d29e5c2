"""Progress without a terminal: what was decided, and one line for work that takes a while."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from prime_cli.core.progress import Task

PATIENCE_S = 1.0
"""Work shorter than this is not worth a line in a log."""


class Talk(Protocol):
    """What progress needs of Output."""

    def say(self, text: str) -> None:
        """One line; hidden by `--quiet`."""

    def warn(self, text: str, *, hint: str | None = None) -> None:
        """One line; never hidden."""


class Untold:
    """A Task that shows nothing."""

    def advance(self, amount: int = 1) -> None:
        """Nothing is shown."""

    def update(self, *, total: int | None = None, note: str | None = None) -> None:
        """Nothing is shown."""


class Quiet:
    """Only warnings."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk

    @contextmanager
    def task(
        self, description: str, *, total: int | None = None, unit: str = "items"
    ) -> Iterator[Task]:
        """Show nothing while the work is done."""
        yield Untold()

    def say(self, message: str) -> None:
        """Quiet."""

    def warn(self, message: str, *, hint: str | None = None) -> None:
        """Pass a warning on."""
        self._talk.warn(message, hint=hint)


class Lines(Quiet):
    """One line for each piece of work that is still under way after a second."""

    @contextmanager
    def task(
        self, description: str, *, total: int | None = None, unit: str = "items"
    ) -> Iterator[Task]:
        """Name the work once, if it takes longer than `PATIENCE_S`."""
        timer = threading.Timer(PATIENCE_S, self._talk.say, [f"{description} …"])
        timer.daemon = True
        timer.start()
        try:
            yield Untold()
        finally:
            timer.cancel()

    def say(self, message: str) -> None:
        """One line on stderr."""
        self._talk.say(message)
