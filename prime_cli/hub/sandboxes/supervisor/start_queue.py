"""Limits how many start commands run at once: one for each CPU of this machine.

A start command often installs packages, and clients give it seconds: of many at once, none would
finish in time.
"""

import asyncio
import os
from contextlib import suppress

from prime_cli.hub.sandboxes.provider import RunningSandbox, WatchedSandbox

_WAIT_SECONDS = 90.0
"""The longest wait for a slot: clients ask for about two minutes whether a sandbox runs."""

_POLL_SECONDS = 0.05
_IDLE_POLLS = 5
"""Polls in a row that find a sandbox idle before its slot is released."""

_MOST_POLLS = 200
"""Polls before a slot is released anyway."""


class StartQueue:
    """The slots of a supervisor."""

    def __init__(self, slots: int | None = None) -> None:
        self._free = asyncio.Semaphore(slots or os.cpu_count() or 1)

    def slot(self) -> "StartSlot":
        """A slot for one sandbox, not yet acquired."""
        return StartSlot(self._free)


class StartSlot:
    """The slot of one sandbox."""

    def __init__(self, free: asyncio.Semaphore) -> None:
        self._free = free
        self._is_held = False

    async def acquire(self) -> None:
        """Wait for a slot; give up after a timeout, and start without one."""
        with suppress(TimeoutError):
            # Not `wait_for`: a caller cancelled in the moment of its turn would go on.
            async with asyncio.timeout(_WAIT_SECONDS):
                self._is_held = await self._free.acquire()

    async def release_when_idle(self, running: RunningSandbox) -> None:
        """Release it once the start command waits for something, or has ended."""
        idle = 0 if isinstance(running, WatchedSandbox) else _IDLE_POLLS
        for _ in range(_MOST_POLLS):
            if idle == _IDLE_POLLS:
                break
            await asyncio.sleep(_POLL_SECONDS)
            is_busy = isinstance(running, WatchedSandbox) and running.is_busy
            idle = 0 if is_busy else idle + 1
        self.release()

    def release(self) -> None:
        """Let the next one start; idempotent."""
        if self._is_held:
            self._is_held = False
            self._free.release()
