"""Progress without a terminal: what was decided, and lines for work that takes a while."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from prime_cli.core.formatting import count_text
from prime_cli.core.progress import Task

PATIENCE_S = 1.0
"""Work shorter than this is not worth a line in a log."""

LINE_EVERY_S = 30.0
"""How often running work reports its progress; also the least time between two alerts."""


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

    def update(
        self, *, total: int | None = None, note: str | None = None, alert: str | None = None
    ) -> None:
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


class Spoken(Quiet):
    """What is decided, and nothing of the work under way: something else has the terminal."""

    def say(self, message: str) -> None:
        """One line on stderr."""
        self._talk.say(message)


class LineTask:
    """A Task that reports its progress every half minute, and at once what blocks it.

    It checks the clock only on updates: silent work has no news.
    """

    def __init__(
        self,
        say: Callable[[str], None],
        clock: Callable[[], float],
        description: str,
        total: int | None,
        unit: str,
    ) -> None:
        self._say = say
        self._clock = clock
        self._description = description
        self._total = total
        self._unit = unit
        self._done = 0
        self._note = self._alert = ""
        self._due = clock() + LINE_EVERY_S
        self._alert_due = clock()

    def advance(self, amount: int = 1) -> None:
        """Some more is done."""
        self._done += amount
        self._say_if_due()

    def update(
        self, *, total: int | None = None, note: str | None = None, alert: str | None = None
    ) -> None:
        """Learn the total, or change what is said beside it."""
        self._total = self._total if total is None else total
        self._note = self._note if note is None else note
        new = bool(alert) and not self._alert
        self._alert = self._alert if alert is None else alert
        if new and self._clock() >= self._alert_due:
            self._due = self._clock()
        self._say_if_due()

    def _say_if_due(self) -> None:
        now = self._clock()
        if now < self._due:
            return
        self._due = now + LINE_EVERY_S
        if self._alert:
            self._alert_due = self._due
        words = [word for word in (self._count(), self._note, self._alert) if word]
        if words:
            self._say(f"{self._description}: {', '.join(words)}")

    def _count(self) -> str:
        if not self._done and not self._total:
            return ""
        count = count_text(self._done, self._total, self._unit)
        noun = "rollout" if (self._total or self._done) == 1 else "rollouts"
        return f"{count} {noun}" if self._unit == "rollouts" else count


class Lines(Quiet):
    """A line for work that is still under way after a second, and one each half minute then."""

    def __init__(self, talk: Talk, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(talk)
        self._clock = clock

    @contextmanager
    def task(
        self, description: str, *, total: int | None = None, unit: str = "items"
    ) -> Iterator[Task]:
        """Name the work once it takes longer than `PATIENCE_S`, then report its progress."""
        timer = threading.Timer(PATIENCE_S, self._talk.say, [f"{description} …"])
        timer.daemon = True
        timer.start()
        try:
            yield LineTask(self._talk.say, self._clock, description, total, unit)
        finally:
            timer.cancel()

    def say(self, message: str) -> None:
        """One line on stderr."""
        self._talk.say(message)
