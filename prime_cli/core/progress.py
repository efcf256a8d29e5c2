"""Progress reports without knowledge of terminals; `terminal` implements them."""

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol


class Task(Protocol):
    """A unit of work under way, with an optional known total."""

    def advance(self, amount: int = 1) -> None:
        """Report `amount` more units (bytes, rollouts, files) as done."""

    def update(
        self, *, total: int | None = None, note: str | None = None, alert: str | None = None
    ) -> None:
        """Set the total, or the text beside the bar.

        `note` is the current state, `alert` what is blocking progress, empty if nothing is.
        """


class Progress(Protocol):
    """What domain functions report to while they work."""

    def task(
        self, description: str, *, total: int | None = None, unit: str = "items"
    ) -> AbstractContextManager[Task]:
        """Show a task while the context is open; unit is `items`, `bytes` or `rollouts`."""

    def say(self, message: str) -> None:
        """Report a choice made for the user, in one line; hidden by `--quiet`."""

    def warn(self, message: str, *, hint: str | None = None) -> None:
        """Report what went differently than requested, in one line."""


class _SilentTask:
    def advance(self, amount: int = 1) -> None:
        pass

    def update(
        self, *, total: int | None = None, note: str | None = None, alert: str | None = None
    ) -> None:
        pass


class Silent:
    """A Progress that shows nothing but keeps messages; for library use and tests."""

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
    """Reports each sentence once: a failing provider fails on every poll."""

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
    """Forward what is logged below `logger` to `progress` as warnings, each once.

    Without a handler Python would print the bare sentence to stderr.
    """
    teller = _WarningHandler(progress)
    logging.getLogger(logger).addHandler(teller)
    try:
        yield
    finally:
        logging.getLogger(logger).removeHandler(teller)
