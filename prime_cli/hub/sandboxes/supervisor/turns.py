"""Sandboxes with a start command start in turn, as many at once as this machine has CPUs.

Such a command often installs packages, and clients give it seconds: of many at once, none would be
done in time.
"""

import asyncio
import os
from contextlib import suppress

from prime_cli.hub.sandboxes.provider import RunningSandbox, WatchedSandbox

_WAIT_SECONDS = 90.0
"""How long one waits for its turn: clients ask for about two minutes whether it runs."""

_GLANCE = 0.05
_QUIET = 5
"""Glances in a row at which nothing in it works, after which its turn is over."""

_MOST = 200
"""Glances of a turn."""


class Turns:
    """The turns of all sandboxes of a supervisor."""

    def __init__(self, at_once: int | None = None) -> None:
        self._free = asyncio.Semaphore(at_once or os.cpu_count() or 1)

    def one(self) -> "Turn":
        """A turn for one sandbox."""
        return Turn(self._free)


class Turn:
    """The turn of one sandbox."""

    def __init__(self, free: asyncio.Semaphore) -> None:
        self._free = free
        self._is_held = False

    async def take(self) -> None:
        """Wait for it; whoever has waited for long goes on without one."""
        with suppress(TimeoutError):
            # Not `wait_for`: who gives up in the moment that it is free would go on.
            async with asyncio.timeout(_WAIT_SECONDS):
                self._is_held = await self._free.acquire()

    async def pass_on(self, running: RunningSandbox) -> None:
        """Give it back as soon as the start command waits for something, or has ended."""
        quiet = 0 if isinstance(running, WatchedSandbox) else _QUIET
        for _ in range(_MOST):
            if quiet == _QUIET:
                break
            await asyncio.sleep(_GLANCE)
            quiet = 0 if _works(running) else quiet + 1
        self.give_back()

    def give_back(self) -> None:
        """Let the next one start; idempotent."""
        if self._is_held:
            self._is_held = False
            self._free.release()


def _works(running: RunningSandbox) -> bool:
    return isinstance(running, WatchedSandbox) and running.is_busy
