"""Between routing and sending: every attempt at a call waits for a slot and has a deadline.

An endpoint that objects has fewer slots, one that does not has more.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from prime_cli.core.digests import digest_bytes
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.calls import POLICY, Call, CallFailed, Reply
from prime_cli.models.gateway.limits.shared_state import (
    ProcessSlot,
    SharedState,
    fair_share,
    open_state,
)
from prime_cli.models.gateway.retries import asked_wait, spent_until
from prime_cli.models.gateway.streams import in_time, keep_coming
from prime_cli.models.gateway.upstream import Send

LONGEST_PAUSE_S = 600.0
"""Longer pauses are not honoured: the calls fail at once, and the run ends."""

QUIET_SECONDS = 60.0
"""A limit doubles after each such period without an objection, whatever else happens."""

_AMPLE = 4096
"""A limit this large counts as none."""

_GLANCE_S = 0.05  # how soon a slot released by another process is noticed
_LOOK_S = 1.0
OBJECTIONS = frozenset((HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE, 529))
"""Statuses for too many calls; 529 is Anthropic's "overloaded"."""

_FIRST_REST_S = 5.0
_LONGEST_REST_S = 60.0


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


@dataclass
class _EndpointState:
    """An endpoint: its limiter, and how long it is avoided for not responding at all."""

    endpoint: Endpoint
    limiter: Limiter
    failures: int = 0
    rests_until: float = 0.0

    def fail(self) -> None:
        self.failures += 1
        rest = min(_LONGEST_REST_S, _FIRST_REST_S * 2.0 ** (self.failures - 1))
        self.rests_until = time.monotonic() + rest


class EndpointLimits:
    """Sends calls by `send`, each within the limits of its endpoint and key.

    `folder` is where the processes of this machine share their state; None shares nothing.
    """

    def __init__(
        self, send: Send, *, folder: Path | None, call_seconds: float, idle_seconds: float
    ) -> None:
        self._send = send
        self._folder = folder
        self._call_seconds = call_seconds
        self._idle_seconds = idle_seconds
        self._doors: dict[int, _EndpointState] = {}
        self._limiters: dict[str, Limiter] = {}
        self._heard = 0.0

    @property
    def waiting(self) -> int:
        """Calls that wait for a slot."""
        return sum(limiter.waiting for limiter in self._limiters.values())

    @property
    def next_seconds(self) -> float:
        """Seconds until the first called endpoint is open again; 0 if one is."""
        return min((limiter.pause for limiter in self._limiters.values()), default=0.0)

    @property
    def silent_seconds(self) -> float:
        """Seconds that calls have been with endpoints without any answer; 0 without calls."""
        if not any(limiter.running for limiter in self._limiters.values()):
            return 0.0
        return time.monotonic() - self._heard

    async def send(self, endpoint: Endpoint, call: Call) -> Reply:
        """The endpoint's answer; raises CallFailed if there is none, or none in time."""
        door = self._door(endpoint)
        limiter = door.limiter
        entered = await limiter.enter(urgent=call.identity.role != POLICY)
        if limiter.running == 1:
            self._heard = time.monotonic()
        streams = False
        try:
            reply = await self._try(door, call, entered)
            if reply.chunks is not None:
                reply.chunks = self._let_out(limiter, reply.chunks)
                streams = True
            return reply
        finally:
            if not streams:
                limiter.leave()

    def is_free(self, endpoint: Endpoint) -> bool:
        """Whether a member of a group may be called: neither paused nor recently down."""
        door = self._door(endpoint)
        return door.rests_until <= time.monotonic() and not door.limiter.pause

    def close(self) -> None:
        """Leave the shared state; only once no calls are under way."""
        for limiter in self._limiters.values():
            limiter.close()
        self._limiters.clear()
        self._doors.clear()

    async def _try(self, door: _EndpointState, call: Call, entered: float) -> Reply:
        try:
            reply = await in_time(self._send(door.endpoint, call), self._call_seconds, call)
        except CallFailed as failure:
            self._heard = time.monotonic()
            if failure.retryable:
                door.fail()
            raise
        self._heard = time.monotonic()
        self._learn(door, reply, entered)
        if reply.chunks is not None:
            until = time.monotonic() + self._call_seconds
            reply.chunks = keep_coming(reply.chunks, self._idle_seconds, until)
        return reply

    def _learn(self, door: _EndpointState, reply: Reply, entered: float) -> None:
        limiter = door.limiter
        if reply.status in OBJECTIONS:
            limiter.refused(entered)
            asked = asked_wait(reply.headers)
            limiter.pause_for(spent_until(reply.headers) if asked is None else asked)
            return
        if reply.status < HTTPStatus.INTERNAL_SERVER_ERROR:
            door.failures = 0
            door.rests_until = 0.0
            limiter.succeeded()
        elif reply.status != HTTPStatus.INTERNAL_SERVER_ERROR:
            door.fail()
        limiter.pause_for(spent_until(reply.headers))

    async def _let_out(
        self, limiter: Limiter, chunks: AsyncGenerator[bytes, None]
    ) -> AsyncGenerator[bytes, None]:
        """The stream; its slot is given back when it ends."""
        try:
            async with aclosing(chunks):
                async for chunk in chunks:
                    self._heard = time.monotonic()
                    yield chunk
        finally:
            limiter.leave()

    def _door(self, endpoint: Endpoint) -> _EndpointState:
        # By identity: an Endpoint holds its headers and has no hash. The door keeps it alive.
        door = self._doors.get(id(endpoint))
        if door is None:
            name = name_of(endpoint)
            limiter = self._limiters.get(name)
            if limiter is None:
                limiter = self._limiters[name] = Limiter(open_state(self._folder, name))
            door = self._doors[id(endpoint)] = _EndpointState(endpoint, limiter)
        return door


def name_of(endpoint: Endpoint) -> str:
    """Identifies an endpoint and its key without revealing either."""
    key = endpoint.key.reveal() if endpoint.key is not None else ""
    return digest_bytes(f"{endpoint.address}\0{key}".encode())[:32]
