"""Answers that are right but oddly written, as bytes that every JSON reader takes.

Python's json and OpenAI's SDK take half a surrogate pair and NaN, which the strict readers further
on refuse; a byte order mark or a byte that is not UTF-8 stops the SDK.
"""

import json
import math
import re
from codecs import BOM_UTF8
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import msgspec

_REPLACEMENT = rb"\ufffd"
_HALF = re.compile(
    rb"\\\\"  # an escaped backslash: what follows is text
    rb"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
_UNFINISHED = re.compile(
    rb"\\+(?:u(?:[0-9a-fA-F]{0,3}|[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?))?\Z"
)
"""The end of a piece that the next one may complete: of an escape, or of a surrogate pair."""


def clean_text(body: bytes) -> bytes:
    """JSON as UTF-8 without a byte order mark, with U+FFFD for what is no text."""
    body = body.removeprefix(BOM_UTF8)
    if not body.isascii():
        body = body.decode("utf-8", "replace").encode()
    return replace_halves(body)


def replace_halves(text: bytes) -> bytes:
    """`text`, part of JSON, with U+FFFD for the escape of half a surrogate pair."""
    if rb"\ud" not in text and rb"\uD" not in text:
        return text
    return _HALF.sub(lambda found: _REPLACEMENT if found[1] else found[0], text)


def strict_json(body: bytes) -> bytes:
    """JSON that Python's reader takes, as strict JSON: null for NaN and infinities.

    Raises ValueError for what is no JSON, RecursionError for what is nested too deeply.
    """
    return msgspec.json.encode(_finite(json.loads(body)))


def _finite(value: Any) -> Any:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {name: _finite(each) for name, each in value.items()}
        case list():
            return [_finite(each) for each in value]
        case _:
            return value


async def whole_characters(chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """A stream of events in which no escape is half a surrogate pair."""
    held = b""
    async with aclosing(chunks):
        async for chunk in chunks:
            text = held + chunk
            unfinished = _UNFINISHED.search(text)
            end = unfinished.start() if unfinished else len(text)
            held = text[end:]
            if end:
                yield replace_halves(text[:end])
    if held:
        yield replace_halves(held)
