"""Limits on requests, per process: rates by key and address; size, pace and number of bodies."""

import asyncio
import hashlib
import math
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prime_cli.core.errors import PrimeError, RateLimited, TooLarge, TooSlow
from prime_cli.hub.context import Caller
from prime_cli.hub.services.logins import network_of
from prime_cli.hub.serving.options import MinimumRate
from prime_cli.wire.codec import encode
from prime_cli.wire.problems import headers_of, status_of, to_problem

_RETRY_SECONDS = 5

# --- Refusals ---

Headers = list[tuple[bytes, bytes]]


async def send_json(send: Send, status: int, body: bytes, headers: Headers | None = None) -> None:
    """Send a complete JSON response."""
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


async def refuse(send: Send, error: PrimeError) -> None:
    """Send `error` as a problem, with the status of its class."""
    headers = [(name.encode(), value.encode()) for name, value in headers_of(error).items()]
    await send_json(send, status_of(error), encode(to_problem(error)), headers)


# --- Token buckets ---

_MANY = 50_000


class TokenBuckets:
    """A bucket for each name, full at first, that fills with `rate` tokens a second up to `burst`.

    Only the `most` recently used names are kept, which bounds memory; a forgotten one starts full.
    For one thread.
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


@dataclass(frozen=True)
class Rates:
    """Requests a second in the long run; `burst` seconds' worth of them may come at once.

    `stranger` is for keys not known to be valid: those that never worked, or no longer do.
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
    """Answers 429 with Retry-After to too many requests; callers on this machine are exempt.

    A key has a bucket of its own once it has worked. Until then, and after it has failed, requests
    count against a small bucket of the address, so that guessing keys gains nothing.
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
        wait = self._take(key, network_of(state["address"]))
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
    """The digest of the credentials, so that no key is kept in memory; None without any."""
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
            retry_after=seconds,
        ),
    )


# --- Requests at once ---


class ShareMiddleware:
    """Answers 429 to an address that has `most` requests under way; this machine is exempt.

    What `connections` is for those who connect themselves, this is for clients of trusted proxies.
    """

    def __init__(self, app: ASGIApp, most: int) -> None:
        self.app = app
        self._most = most
        self._under_way: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["state"]["near"]:
            await self.app(scope, receive, send)
            return
        network = network_of(scope["state"]["address"])
        if self._under_way[network] >= self._most:
            error = RateLimited(
                f"{network} has {self._most} requests under way; wait for some of them",
                retry_after=_RETRY_SECONDS,
            )
            await refuse(send, error)
            return
        self._under_way[network] += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self._under_way[network] -= 1
            if not self._under_way[network]:
                del self._under_way[network]


# --- Bodies ---

_WITH_BODY = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_UPLOAD = "/upload/"


class BodyLimitMiddleware:
    """Refuses uploads by their declared length and any body by its pace.

    This process accepts at most `uploads` uploads at once, and answers 429 to further ones.
    """

    def __init__(
        self, app: ASGIApp, *, upload_bytes: int, uploads: int, pace: MinimumRate | None = None
    ) -> None:
        self.app = app
        self._upload_bytes = upload_bytes
        self._free_slots = uploads
        self._pace = pace or MinimumRate()

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] != "http" or scope["method"] not in _WITH_BODY:
            return self.app(scope, receive, send)
        patient = _PatientReceive(scope, receive, self._pace)
        if scope["path"].startswith(_UPLOAD):
            return self._upload(scope, patient, send)
        return self.app(scope, patient, send)

    async def _upload(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _declared_length(scope) > self._upload_bytes:
            error = TooLarge(f"The upload has more than the {self._upload_bytes} bytes allowed")
            await refuse(send, error)
            return
        if self._free_slots == 0:
            await refuse(
                send,
                RateLimited(
                    "Too many uploads in progress; try again in a moment",
                    retry_after=_RETRY_SECONDS,
                ),
            )
            return
        self._free_slots -= 1
        try:
            await self.app(scope, receive, send)
        finally:
            self._free_slots += 1


class _PatientReceive:
    """Counts a body's bytes into the state of its request, and raises TooSlow.

    Only time spent waiting counts: while the hub works, the client may not be able to send.
    """

    def __init__(self, scope: Scope, receive: Receive, pace: MinimumRate) -> None:
        self._state = scope["state"]
        self._receive = receive
        self._pace = pace
        self._waited = 0.0
        self._brought = 0
        self._ended = False

    async def __call__(self) -> Message:
        if self._ended:
            return await self._receive()
        if self._brought >= self._pace.bytes:
            self._waited, self._brought = 0.0, 0
        message = await self._next()
        size = len(message.get("body", b""))
        self._brought += size
        self._state["received"] = self._state.get("received", 0) + size
        self._ended = not message.get("more_body", False)
        return message

    async def _next(self) -> Message:
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._pace.seconds - self._waited):
                return await self._receive()
        except TimeoutError as error:
            raise TooSlow(
                f"Request body too slow: {self._brought} bytes in {self._pace.seconds:g} s",
                hint="run the same command again over a better connection",
            ) from error
        finally:
            self._waited += time.monotonic() - began


def _declared_length(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() else 0
    return 0
