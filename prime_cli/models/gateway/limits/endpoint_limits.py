"""Between routing and sending: every attempt at a call waits for a slot and has a deadline."""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from prime_cli.core.digests import digest_bytes
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.calls import POLICY, Call, CallFailed, Reply
from prime_cli.models.gateway.limits.limiter import Limiter
from prime_cli.models.gateway.limits.shared_state import open_state
from prime_cli.models.gateway.retries import asked_wait, spent_until
from prime_cli.models.gateway.streams import in_time, keep_coming
from prime_cli.models.gateway.upstream import Send

OBJECTIONS = frozenset((HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE, 529))
"""Statuses for too many calls; 529 is Anthropic's "overloaded"."""

_FIRST_REST_S = 5.0
_LONGEST_REST_S = 60.0


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
