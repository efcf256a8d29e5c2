"""Retry calls, as often as suits the kind of failure, and when the endpoint's headers allow it."""

import asyncio
import random
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus

from prime_cli.core.http import retry_after
from prime_cli.models.gateway.calls import Call, CallFailed, Handler, Reply, read_error_code
from prime_cli.models.gateway.ledger import NONSENSE
from prime_cli.models.gateway.streams import LATE

RATE_LIMITED, OVERLOADED, CONNECTION = "rate limited", "overloaded", "connection"
SERVER_ERROR, NO_COMPLETION, TOO_LATE = "server error", "no completion", "too late"
_REFUSED = (RATE_LIMITED, OVERLOADED)

# 529 is the answer of Anthropic and others while overloaded; 408 and 409 as in OpenAI's clients.
_CLASS_OF_STATUS: dict[int, str] = {
    HTTPStatus.TOO_MANY_REQUESTS: RATE_LIMITED,
    HTTPStatus.SERVICE_UNAVAILABLE: OVERLOADED,
    529: OVERLOADED,
    **dict.fromkeys((408, 409, 500, 502, 504), SERVER_ERROR),
}
_CLASS_OF_CODE = {NONSENSE: NO_COMPLETION, LATE: TOO_LATE}
# OpenAI's 429 for an account without credit; waiting does not help.
_FINAL_CODES = frozenset(("insufficient_quota", "billing_hard_limit_reached"))


@dataclass(frozen=True)
class RetryPolicy:
    """How often a call is retried, by kind of failure, each counted separately.

    The waits double from `first_s` to `longest_s`, with jitter. An answer that requests a wait of
    more than `patience_s` is final.
    """

    rate_limited: int = 10
    overloaded: int = 8
    connection: int = 6
    server_error: int = 5
    no_completion: int = 2
    too_late: int = 1
    first_s: float = 0.5
    longest_s: float = 60.0
    patience_s: float = 600.0

    def allowed(self, kind: str) -> int:
        """How many retries this kind of failure is worth."""
        return {
            RATE_LIMITED: self.rate_limited,
            OVERLOADED: self.overloaded,
            CONNECTION: self.connection,
            SERVER_ERROR: self.server_error,
            NO_COMPLETION: self.no_completion,
            TOO_LATE: self.too_late,
        }[kind]


class Retries:
    """The step that retries a call; the final failure is passed on unchanged.

    `under_way` counts the calls inside.
    """

    def __init__(
        self,
        policy: RetryPolicy,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.under_way = 0
        self._policy = policy
        self._sleep = sleep
        self._clock = clock
        self._wakes: list[float] = []

    @property
    def held(self) -> int:
        """How many of the calls wait after a refusal."""
        return len(self._wakes)

    @property
    def next_seconds(self) -> float:
        """Seconds until the first of these is retried; 0 if none waits."""
        return max(0.0, min(self._wakes) - self._clock()) if self._wakes else 0.0

    async def __call__(self, call: Call, handler: Handler) -> Reply:
        self.under_way += 1
        try:
            return await self._repeat(call, handler)
        finally:
            self.under_way -= 1

    async def _repeat(self, call: Call, handler: Handler) -> Reply:
        failed: Counter[str] = Counter()
        while True:
            try:
                reply = await handler(call)
            except CallFailed as failure:
                kind = _class_of_failure(failure)
                if kind is None or failed[kind] >= self._policy.allowed(kind):
                    raise
                wait = None
            else:
                kind = _class_of_reply(reply)
                if kind is None or failed[kind] >= self._policy.allowed(kind):
                    return reply
                wait = asked_wait(reply.headers)
                if (wait or 0) > self._policy.patience_s:
                    return reply
            failed[kind] += 1
            if wait is None or kind in _REFUSED:
                # A refusal closes the endpoint (see Limits) for as long as it asks; another
                # member of the same group may be free meanwhile.
                wait = self._backoff(failed[kind])
            await self._pause(kind, wait)

    async def _pause(self, kind: str, seconds: float) -> None:
        if kind not in _REFUSED:
            await self._sleep(seconds)
            return
        wake = self._clock() + seconds
        self._wakes.append(wake)
        try:
            await self._sleep(seconds)
        finally:
            self._wakes.remove(wake)

    def _backoff(self, tries: int) -> float:
        wait: float = min(self._policy.longest_s, self._policy.first_s * 2 ** (tries - 1))
        return wait * random.uniform(0.75, 1.0)  # noqa: S311 - spreads load, hides nothing


def _class_of_failure(failure: CallFailed) -> str | None:
    return _CLASS_OF_CODE.get(failure.code, CONNECTION) if failure.retryable else None


def _class_of_reply(reply: Reply) -> str | None:
    kind = _CLASS_OF_STATUS.get(reply.status)
    if kind == RATE_LIMITED and read_error_code(reply.body) in _FINAL_CODES:
        return None
    return kind


# --- When an endpoint may be called again, from its headers ---

_RESET = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
_UNITS = (86400.0, 3600.0, 60.0, 1.0, 0.001)
_EPOCH_SECONDS = 10.0**9
_EPOCH_MILLISECONDS = 10.0**12

_OPENAI = ("x-ratelimit-remaining", "x-ratelimit-reset")
_WHAT = ("requests", "tokens", "input-tokens", "output-tokens")
_PAIRS = {
    **{f"{_OPENAI[0]}-{what}": f"{_OPENAI[1]}-{what}" for what in _WHAT},
    **{
        f"anthropic-ratelimit-{what}-remaining": f"anthropic-ratelimit-{what}-reset"
        for what in _WHAT
    },
    _OPENAI[0]: _OPENAI[1],
    "ratelimit-remaining": "ratelimit-reset",
}
"""The header with the remaining allowance, and the one with its reset."""


def is_rate_header(name: str) -> bool:
    """Whether a header (in lower case) says something here."""
    return name in ("retry-after", "retry-after-ms") or "ratelimit" in name


def asked_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds that Retry-After (or OpenAI's finer retry-after-ms) asks to wait; None without."""
    fine = headers.get("retry-after-ms")
    if fine is not None:
        try:
            return max(0.0, float(fine) / 1000)
        except ValueError:
            pass  # the coarser one may still be read
    return retry_after(headers.get("retry-after"))


def spent_until(headers: Mapping[str, str]) -> float:
    """Seconds until a used-up allowance is refilled; 0 if none is used up.

    Reads OpenAI's `x-ratelimit-remaining-requests` and `-tokens` with their `-reset-`, Anthropic's
    `anthropic-ratelimit-…-remaining` and `-reset`, and the drafts of the IETF.
    """
    waits = [
        read_reset(headers.get(_PAIRS[name], "")) or 0.0
        for name, left in headers.items()
        if name in _PAIRS and _is_used_up(left)
    ]
    return max(waits, default=0.0)


def read_reset(value: str) -> float | None:
    """Seconds until a moment: `6m0s`, `20ms`, `1.5`, an epoch in (milli)seconds, an RFC 3339 date.

    None for anything else; never negative.
    """
    value = value.strip()
    try:
        number = float(value)
    except ValueError:
        found = _RESET.fullmatch(value)
        if value and found:
            parts = zip(found.groups(), _UNITS, strict=True)
            return sum(float(part) * unit for part, unit in parts if part)
        return _until(value)
    if not 0 <= number < float("inf"):
        return None
    if number >= _EPOCH_MILLISECONDS:
        number /= 1000
    return max(0.0, number - time.time()) if number >= _EPOCH_SECONDS else number


def _until(date: str) -> float | None:
    try:
        moment = datetime.fromisoformat(date)
    except ValueError:
        return None
    return max(0.0, moment.timestamp() - time.time()) if moment.tzinfo else None


def _is_used_up(left: str) -> bool:
    try:
        return float(left) <= 0
    except ValueError:
        return False
