"""Trying a call again: rate limits, server errors and lost connections."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus

from prime_cli.core.retry_after import retry_after
from prime_cli.models.gateway.calls import Call, CallFailed, Handler, Reply
from prime_cli.models.gateway.shapes import read_error_code

RATE_LIMITED = HTTPStatus.TOO_MANY_REQUESTS
# 529 is what Anthropic and others answer while overloaded; 408 and 409 as in OpenAI's clients.
_FAILED = frozenset((408, 409, 500, 502, 503, 504, 529))
# OpenAI's 429 for an account without credit; waiting does not help.
_FINAL_CODES = frozenset(("insufficient_quota", "billing_hard_limit_reached"))


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how long; the waits double from `first_s` to `longest_s`, with jitter.

    A Retry-After is obeyed up to `longest_s`; an answer that asks for more is final.
    """

    rate_limited: int = 10
    failed: int = 4
    first_s: float = 0.5
    longest_s: float = 60.0


class Retries:
    """The step that repeats a call; what fails to the end is passed on as it is."""

    def __init__(
        self,
        policy: RetryPolicy,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._policy = policy
        self._sleep = sleep

    async def __call__(self, call: Call, handler: Handler) -> Reply:
        tries = 0
        while True:
            tries += 1
            try:
                reply = await handler(call)
            except CallFailed as failure:
                if not failure.retryable or tries > self._policy.failed:
                    raise
                wait = self._backoff(tries)
            else:
                after = self._wait_after(reply, tries)
                if after is None:
                    return reply
                wait = after
            await self._sleep(wait)

    def _wait_after(self, reply: Reply, tries: int) -> float | None:
        """Seconds until the next try; None when this reply is the answer."""
        if reply.status != RATE_LIMITED and reply.status not in _FAILED:
            return None
        limit = self._policy.failed
        if reply.status == RATE_LIMITED:
            if read_error_code(reply.body) in _FINAL_CODES:
                return None
            limit = self._policy.rate_limited
        asked = retry_after(reply.headers.get("retry-after"))
        if tries > limit or (asked or 0) > self._policy.longest_s:
            return None
        return self._backoff(tries) if asked is None else asked

    def _backoff(self, tries: int) -> float:
        wait: float = min(self._policy.longest_s, self._policy.first_s * 2 ** (tries - 1))
        return wait * random.uniform(0.75, 1.0)  # noqa: S311 - spreads load, hides nothing
