"""How often somebody may ask: per key and per address, in each process for itself."""

import hashlib
import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache

from starlette.types import ASGIApp, Receive, Scope, Send

from prime_cli.core.errors import RateLimited
from prime_cli.hub.context import Caller
from prime_cli.hub.services.attempts import network_of
from prime_cli.hub.serving.buckets import Buckets
from prime_cli.hub.serving.refusals import refuse

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


class LimitRates:
    """Refuses with 429 and Retry-After whoever asks too often; callers on this machine may.

    A key counts for itself once it has worked. Until then, and after it has failed, its requests
    count for the address, and dearly: guessing keys, one for each request, gains nothing.
    """

    def __init__(
        self, app: ASGIApp, rates: Rates, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.app = app
        self._keys = Buckets(rates.key, rates.key * rates.burst, clock=clock)
        self._addresses = Buckets(rates.address, rates.address * rates.burst, clock=clock)
        self._strangers = Buckets(rates.stranger, rates.stranger * rates.burst, clock=clock)
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
            f"Too many requests; ask again in {seconds} s",
            hint="ask more slowly, or use an API key: a known key may ask more often",
        ),
        [(b"retry-after", str(seconds).encode())],
    )
