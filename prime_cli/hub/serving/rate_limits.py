"""Rate limits: token buckets per key and per address, in each process for itself."""

import hashlib
import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from functools import lru_cache

from starlette.types import ASGIApp, Receive, Scope, Send

from prime_cli.core.errors import PrimeError, RateLimited
from prime_cli.hub.context import Caller
from prime_cli.hub.services.logins import network_of
from prime_cli.wire.codec import encode
from prime_cli.wire.problems import status_of, to_problem

# --- Refusals ---

Headers = list[tuple[bytes, bytes]]


async def send_json(send: Send, status: int, body: bytes, headers: Headers | None = None) -> None:
    """A whole answer at once."""
    length = (b"content-length", str(len(body)).encode())
    kind = (b"content-type", b"application/json")
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [kind, length, *(headers or [])],
        }
    )
    await send({"type": "http.response.body", "body": body})


async def refuse(send: Send, error: PrimeError, headers: Headers | None = None) -> None:
    """The problem that `error` is, under the status of its class."""
    await send_json(send, status_of(error), encode(to_problem(error)), headers)


# --- Token buckets ---

_MANY = 50_000


class TokenBuckets:
    """A bucket for each name, full at first, that fills with `rate` tokens a second up to `burst`.

    Only the `most` names that were used last are known; one that is forgotten is full again, so
    memory stays bounded whoever calls. Used by one thread.
    """

    def __init__(
        self,
        rate: float,
        burst: float,
        *,
        most: int = _MANY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rate = rate
        self._burst = burst
        self._most = most
        self._clock = clock
        self._levels: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def take(self, name: Hashable) -> float:
        """Take one token; 0.0 when there was one, else the seconds until there is."""
        now = self._clock()
        level, at = self._levels.get(name, (self._burst, now))
        level = min(self._burst, level + (now - at) * self._rate)
        wait = 0.0 if level >= 1 else (1 - level) / self._rate
        self._levels[name] = (level if wait else level - 1, now)
        self._levels.move_to_end(name)
        if len(self._levels) > self._most:
            self._levels.popitem(last=False)
        return wait


# --- Rates ---

_KNOWN_KEYS = 50_000
_place_of = lru_cache(maxsize=4096)(network_of)


@dataclass(frozen=True)
class Rates:
    """Requests a second in the long run; `burst` seconds' worth of them may come at once.

    `stranger` is for keys that are not known to be good: those that never worked here, or no more.
    """

    key: float
    address: float
    stranger: float
    burst: float = 10.0

    @classmethod
    def of_key(cls, key: float) -> "Rates":
        """The rates for a hub where each key may ask `key` times a second."""
        return cls(key=key, address=key / 2, stranger=key / 10)


class RateLimitMiddleware:
    """Refuses with 429 and Retry-After whoever asks too often; callers on this machine may.

    A key counts for itself once it has worked. Until then, and after it has failed, its requests
    count for the address, and dearly: guessing keys, one for each request, gains nothing.
    """

    def __init__(
        self, app: ASGIApp, rates: Rates, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.app = app
        self._keys = TokenBuckets(rates.key, rates.key * rates.burst, clock=clock)
        self._addresses = TokenBuckets(rates.address, rates.address * rates.burst, clock=clock)
        self._strangers = TokenBuckets(rates.stranger, rates.stranger * rates.burst, clock=clock)
        self._good: OrderedDict[bytes, None] = OrderedDict()

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] != "http" or scope["state"]["near"]:
            return self.app(scope, receive, send)
        return self._limit(scope, receive, send)

    async def _limit(self, scope: Scope, receive: Receive, send: Send) -> None:
        state = scope["state"]
        key = _digest(scope)
        wait = self._take(key, _place_of(state["address"]))
        if wait:
            await _refuse(send, wait)
            return
        await self.app(scope, receive, send)
        if key is not None:
            self._learn(key, state.get("caller"))

    def _take(self, key: bytes | None, address: str) -> float:
        if key is None:
            return self._addresses.take(address)
        if key in self._good:
            return self._keys.take(key)
        return self._strangers.take(address)

    def _learn(self, key: bytes, caller: Caller | None) -> None:
        # What was answered without looking at the key says nothing of it.
        if caller is None:
            return
        if not caller.slug:
            self._good.pop(key, None)
            return
        self._good[key] = None
        self._good.move_to_end(key)
        if len(self._good) > _KNOWN_KEYS:
            self._good.popitem(last=False)


def _digest(scope: Scope) -> bytes | None:
    """Of the credentials, so that no key is kept in memory; None when none came."""
    for name, value in scope["headers"]:
        if name == b"authorization" and value:
            return hashlib.blake2b(value, digest_size=16).digest()
    return None


async def _refuse(send: Send, wait: float) -> None:
    seconds = max(1, math.ceil(wait))
    await refuse(
        send,
        RateLimited(
            f"Too many requests; try again in {seconds} s",
            hint="slow down, or use an API key, which has a higher limit",
        ),
        [(b"retry-after", str(seconds).encode())],
    )
