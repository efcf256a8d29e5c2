"""How work reports itself without knowing about terminals; `terminal` implements it."""

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol


class Task(Protocol):
    """One piece of work under way, with an optional known total."""

    def advance(self, amount: int = 1) -> None:
        """Say that `amount` more units (bytes, rollouts, files) are done."""

    def update(
        self, *, total: int | None = None, note: str | None = None, alert: str | None = None
    ) -> None:
        """Learn the total, or change what is said beside the bar.

        `note` is how the work stands, `alert` what keeps it from going on, empty when nothing does.
        """


class Progress(Protocol):
    """What a domain function is given to talk with while it works."""

    def task(
        self, description: str, *, total: int | None = None, unit: str = "items"
    ) -> AbstractContextManager[Task]:
        """Show work while the context is open; unit is `items`, `bytes` or `rollouts`."""

    def say(self, message: str) -> None:
        """One line about a choice that was made for the user; hidden by `--quiet`."""

    def warn(self, message: str, *, hint: str | None = None) -> None:
        """One line about something that went differently from what was asked."""


class _SilentTask:
    def advance(self, amount: int = 1) -> None:
        pass

    def update(
        self, *, total: int | None = None, note: str | None = None, alert: str | None = None
    ) -> None:
        pass


class Silent:
    """A Progress that shows nothing; for library use and tests. Keeps what was said."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.warned: list[str] = []

    def task(
        self, description: str, *, total: int | None = None, unit: str = "items"
    ) -> AbstractContextManager[Task]:
        return nullcontext(_SilentTask())

    def say(self, message: str) -> None:
        self.said.append(message)

    def warn(self, message: str, *, hint: str | None = None) -> None:
        self.warned.append(message)


class _WarningHandler(logging.Handler):
    """Tells each sentence once: a provider that fails does so at every look."""

    def __init__(self, progress: Progress) -> None:
        super().__init__(logging.WARNING)
        self._progress = progress
        self._sent: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            text = f"{text}: {record.exc_info[1]!r}"
        if text not in self._sent:
            self._sent.add(text)
            self._progress.warn(text)


@contextmanager
def forward_warnings(logger: str, progress: Progress) -> Iterator[None]:
    """While this lasts, what is logged below `logger` is a warning of `progress`, once.

    Without a handler Python would print the bare sentence to stderr.
    """
    teller = _WarningHandler(progress)
    logging.getLogger(logger).addHandler(teller)
    try:
        yield
    finally:
        logging.getLogger(logger).removeHandler(teller)
