"""What a run waits for, beside its bar, also while nothing ends."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from prime_cli.core.progress import Task
from prime_cli.models.gateway.calls import Waits

TICK_SECONDS = 1.0
PATIENCE_SECONDS = 20.0
"""Endpoints may take this long over an answer before it is worth a word."""


def waiting_words(waits: Waits) -> str:
    """`waiting on 429: 12 of 64`, `waiting for the endpoint: 2m 05s`, or nothing."""
    if waits.held:
        return f"waiting on 429: {waits.held} of {waits.calls}"
    if waits.silent_seconds >= PATIENCE_SECONDS:
        minutes, seconds = divmod(int(waits.silent_seconds), 60)
        span = f"{minutes}m {seconds:02}s" if minutes else f"{seconds}s"
        return f"waiting for the endpoint: {span}"
    return ""


class WaitingTask:
    """A task whose note makes way for what is waited for; `tick` brings that up to date."""

    def __init__(self, task: Task, waits: Callable[[], Waits]) -> None:
        self._task = task
        self._waits = waits
        self._note = ""
        self._shown = ""

    def advance(self, amount: int = 1) -> None:
        """Some more is done."""
        self._task.advance(amount)

    def update(self, *, total: int | None = None, note: str | None = None) -> None:
        """Learn the total, or change the note."""
        if total is not None:
            self._task.update(total=total)
        if note is not None:
            self._note = note
            self._show()

    def tick(self) -> None:
        """Look again at what is waited for."""
        if self._shown or waiting_words(self._waits()):
            self._show()

    def _show(self) -> None:
        self._shown = waiting_words(self._waits())
        # In place of the note: 80 columns do not hold both.
        self._task.update(note=self._shown or self._note)


@asynccontextmanager
async def ticking(show: Callable[[], None]) -> AsyncIterator[None]:
    """Within, `show` is called every second."""

    async def tick() -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            show()

    task = asyncio.create_task(tick())
    try:
        yield
    finally:
        task.cancel()
