"""Server-sent events and deadlines: a stream's usage, and how long an attempt may take."""

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace

from prime_cli.models.gateway.calls import (
    Answer,
    Call,
    CallFailed,
    Handler,
    Reply,
    RequestHead,
    StreamOptions,
    error_body,
    read_answer,
    with_fields,
)

_SEPARATOR = re.compile(rb"\r?\n\r?\n")
_DATA = re.compile(rb"^data: ?(\{.*\})\s*$", re.MULTILINE)


async def ask_for_usage(call: Call, handler: Handler) -> Reply:
    """The step that makes a streamed completion report its usage, hidden from the caller."""
    options = call.head.stream_options
    wanted = options is not None and options.include_usage
    if not call.head.stream or wanted or not call.path.endswith("completions"):
        return await handler(call)
    head = RequestHead(
        call.head.model, stream=True, stream_options=StreamOptions(include_usage=True)
    )
    body = with_fields(call.body, stream_options=head.stream_options)
    reply = await handler(replace(call, head=head, body=body))
    if reply.chunks is not None:
        reply.chunks = hide_usage(reply.chunks)
    return reply


async def count_stream(
    chunks: AsyncGenerator[bytes, None], count: Callable[[Answer | None], None]
) -> AsyncGenerator[bytes, None]:
    """The same bytes; `count` is called once, with the last event that held a usage.

    Where none did it is the first that named a model, or None.
    """
    counted: Answer | None = None
    named: Answer | None = None
    pending = b""
    try:
        async with aclosing(chunks):
            async for chunk in chunks:
                yield chunk
                *events, pending = _SEPARATOR.split(pending + chunk)
                counted = _last_usage(events) or counted
                named = named or _first_named(events)
        counted = _last_usage([pending]) or counted
    finally:
        count(counted or named)


async def hide_usage(chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """The stream without the usage event that only the gateway requested."""
    pending = b""
    async with aclosing(chunks):
        async for chunk in chunks:
            *events, pending = _SEPARATOR.split(pending + chunk)
            shown = [event + b"\n\n" for event in events if not _only_usage(event)]
            if shown:
                yield b"".join(shown)
    if pending:
        yield pending


def split_events(content: bytes) -> list[bytes]:
    """The events of a whole stream, without what separates them."""
    return _SEPARATOR.split(content)


def event(data: bytes) -> bytes:
    """One server-sent event."""
    return b"data: " + data + b"\n\n"


def _last_usage(events: list[bytes]) -> Answer | None:
    for text in reversed(events):
        if answer := _usage_event(text):
            return answer
    return None


def _first_named(events: list[bytes]) -> Answer | None:
    matches = (_DATA.search(text) for text in events if b'"model"' in text)
    answers = (read_answer(match.group(1)) for match in matches if match)
    return next((answer for answer in answers if answer and answer.any_model), None)


def _only_usage(text: bytes) -> bool:
    answer = _usage_event(text)
    return answer is not None and answer.choices == []


def _usage_event(text: bytes) -> Answer | None:
    if b'"usage"' not in text:
        return None
    match = _DATA.search(text)
    answer = read_answer(match.group(1)) if match else None
    return answer if answer and answer.any_usage else None


LATE = "deadline"
"""The code of a try that met its deadline."""


async def in_time(answer: Awaitable[Reply], seconds: float, call: Call) -> Reply:
    """The result of `answer`; raises CallFailed after `seconds`. A stream must begin by then."""
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
                message = f"The stream stalled for {max(0.0, wait):.0f} s"
                yield event(error_body(message, code="stream_stalled", blame="infra"))
                return
            yield chunk
            wait = min(idle_seconds, until - time.monotonic())
