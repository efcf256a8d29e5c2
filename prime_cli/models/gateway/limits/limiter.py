"""How many calls may be under way at an endpoint: fewer if it objects, more if not."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from prime_cli.models.gateway.limits.shared_state import (
    ProcessSlot,
    SharedState,
    fair_share,
    open_state,
)

LONGEST_PAUSE_S = 600.0
"""Longer pauses are not honoured: the calls fail at once, and the run ends."""

QUIET_SECONDS = 60.0
"""A limit doubles after each such period without an objection, whatever else happens."""

_AMPLE = 4096
"""A limit this large counts as none."""

_GLANCE_S = 0.05  # how soon a slot released by another process is noticed
_LOOK_S = 1.0


class Limiter:
    """The slots of one endpoint for the calls of one gateway: `enter`, then `leave`.

    There is no limit until the endpoint refuses a call. Then it is half of what was under way,
    once for each burst of refusals: calls that began before a cut do not cut again. It grows by
    one for as many successes as it counts, and doubles with each quiet minute, so it cannot stay
    at the bottom. All processes share the limit and its pauses (see `SharedState`), and divide it
    fairly. Urgent calls go first among those of one process.
    """

    def __init__(self, state: SharedState, *, clock: Callable[[], float] = time.time) -> None:
        self._state = state
        self._clock = clock
        self._running = 0
        self._urgent: deque[asyncio.Future[None]] = deque()
        self._patient: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._earned = 0.0
        self._swept = 0.0

    @property
    def waiting(self) -> int:
        """Calls that wait for a slot."""
        return len(self._urgent) + len(self._patient)

    @property
    def running(self) -> int:
        """Calls that have a slot."""
        return self._running

    @property
    def limit(self) -> int:
        """How many calls of all processes may be under way now; 0 means no limit."""
        limit = self._state.limit
        if not limit:
            return 0
        quiet = self._clock() - self._state.cut_at
        if quiet >= QUIET_SECONDS:
            limit *= 2.0 ** min(quiet // QUIET_SECONDS, 16)
        return int(limit) if limit < _AMPLE else 0

    @property
    def pause(self) -> float:
        """Seconds until the endpoint may be called again; 0 when it may."""
        left = self._state.paused_until - self._clock()
        # A later time was not written by us, or the clock was set back.
        return left if 0 < left <= LONGEST_PAUSE_S else 0.0

    async def enter(self, *, urgent: bool = False) -> float:
        """Wait for a slot; returns when it was granted, which `refused` needs."""
        if (self._urgent or self._patient) or not self._has_room():
            await self._wait(self._urgent if urgent else self._patient)
        else:
            self._take()
        return self._clock()

    def leave(self) -> None:
        """Release the slot."""
        self._running -= 1
        self._publish()
        if self._urgent or self._patient:
            self._let_in()

    def succeeded(self) -> None:
        """The endpoint answered a call: an existing limit grows a little."""
        limit = self._state.limit
        if not limit:
            return
        self._earned += 1 / max(1, self.limit)
        if self._earned >= 1:
            with self._state.changing() as mine:
                if mine:
                    grown = self._state.limit + self._earned
                    self._state.limit = grown if grown < _AMPLE else 0.0
            self._earned = 0.0

    def refused(self, entered: float) -> None:
        """The endpoint had too many calls, among them one that got its slot at `entered`."""
        if entered < self._last_cut():
            return
        with self._state.changing() as mine:
            if not mine or entered < self._last_cut():
                return
            running = sum(caller.running for caller in self._callers())
            before = min(self.limit or running, running)
            self._state.limit = max(1.0, before / 2)
            self._state.cut_at = self._clock()
            self._earned = 0.0

    def pause_for(self, seconds: float) -> None:
        """Block all calls for `seconds`, if that is worth waiting for."""
        if 0 < seconds <= LONGEST_PAUSE_S:
            until = self._clock() + seconds
            if not self.pause or until > self._state.paused_until:
                self._state.paused_until = until

    def close(self) -> None:
        """Leave the shared state; calls that end later no longer affect it."""
        if self._timer is not None:
            self._timer.cancel()
        self._state.close()
        self._state = open_state(None, "")

    def _last_cut(self) -> float:
        cut = self._state.cut_at
        return cut if cut <= self._clock() else 0.0

    def _callers(self, *, more: int = 0) -> list[ProcessSlot]:
        """All processes, this one as it is now plus `more` waiting calls."""
        place = self._state.place
        others = [caller for caller in self._state.callers() if caller.place != place]
        return [*others, ProcessSlot(place, self._running, self.waiting + more)]

    def _has_room(self, *, more: int = 1) -> bool:
        """Whether a call may start: one that waits already, or one `more`."""
        if self.pause:
            return False
        limit = self.limit
        if not limit:
            return True
        callers = self._callers(more=more)
        if sum(caller.running for caller in callers) >= limit:
            return False
        share = fair_share(self._state.place, callers, limit, self._clock())
        return self._running < share

    def _take(self) -> None:
        self._running += 1
        self._publish()

    def _publish(self) -> None:
        self._state.publish(self._running, len(self._urgent) + len(self._patient))

    async def _wait(self, queue: "deque[asyncio.Future[None]]") -> None:
        turn = asyncio.get_running_loop().create_future()
        queue.append(turn)
        self._publish()
        self._let_in()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave()  # it was let in just then
            else:
                with suppress(ValueError):
                    queue.remove(turn)
                self._publish()
            raise

    def _let_in(self) -> None:
        while (queue := self._urgent or self._patient) and self._has_room(more=0):
            turn = queue.popleft()
            if not turn.done():
                self._take()
                turn.set_result(None)
        if self._urgent or self._patient:
            self._look_again()

    def _look_again(self) -> None:
        """Nobody wakes us when another process leaves or a pause ends, so check again later."""
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._next_look(), self._looked)

    def _next_look(self) -> float:
        pause = self.pause
        if pause:
            return min(pause, _LOOK_S)
        return _GLANCE_S if len(self._callers()) > 1 or not self._running else _LOOK_S

    def _looked(self) -> None:
        self._timer = None
        now = self._clock()
        if now - self._swept >= _LOOK_S:
            self._swept = now
            self._state.forget_the_dead()
        self._let_in()
