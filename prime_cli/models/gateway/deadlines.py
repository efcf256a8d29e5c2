"""Hard limits on one try of a call: until it is answered, and between the pieces of a stream."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable
from contextlib import aclosing

from prime_cli.models.gateway.calls import Call, CallFailed, Reply
from prime_cli.models.gateway.shapes import error_body
from prime_cli.models.gateway.streams import event

LATE = "deadline"
"""The code of a try that met its deadline."""


async def in_time(answer: Awaitable[Reply], seconds: float, call: Call) -> Reply:
    """What `answer` gives; raises CallFailed after `seconds`. A stream must have begun by then."""
    try:
        async with asyncio.timeout(seconds):
            return await answer
    except TimeoutError as error:
        raise CallFailed(
            f"`{call.head.model or call.path}` did not answer within {seconds:g} s",
            status=504,
            blame="infra",
            code=LATE,
            retryable=True,
        ) from error


async def keep_coming(
    chunks: AsyncGenerator[bytes, None], idle_seconds: float, until: float
) -> AsyncGenerator[bytes, None]:
    """The stream, ended by an error event when nothing comes for `idle_seconds`, or when the
    monotonic clock reaches `until`. The first piece has until then: reasoning takes a while.
    """
    wait = until - time.monotonic()
    async with aclosing(chunks):
        while True:
            try:
                async with asyncio.timeout(max(0.0, wait)):
                    chunk = await anext(chunks)
            except StopAsyncIteration:
                return
            except TimeoutError:
                message = f"The stream stood still for {max(0.0, wait):.0f} s"
                yield event(error_body(message, code="stream_stalled", blame="infra"))
                return
            yield chunk
            wait = min(idle_seconds, until - time.monotonic())
