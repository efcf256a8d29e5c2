"""Repair what servers write oddly, and what they do not take.

Answers that are right become bytes that every JSON reader takes. Python's json and OpenAI's SDK
take half a surrogate pair and NaN, which the strict readers further on refuse; a byte order mark or
a byte that is not UTF-8 stops the SDK.

Requests lose their nulls for servers that take none for a field that is not there: transformers'
own, and vLLM for a message without both text and tool calls. In the API of OpenAI
`"tool_calls": null` and no such field mean the same, and clients send both.
"""

import json
import math
import re
from codecs import BOM_UTF8
from collections.abc import AsyncGenerator
from contextlib import aclosing
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import msgspec

from prime_cli.models.gateway.calls import Reply

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


_UNEXPECTED = b"Internal Server Error"
"""What uvicorn and Starlette answer, as text, when a server's code raises what nobody expects."""
_REFUSED = b"'input': 'None'"
"""How vLLM says what pydantic found in a field."""


def may_be_of_nulls(reply: Reply) -> bool:
    """Whether the server may have failed for nulls: its own code did, or its check of fields."""
    if reply.status == HTTPStatus.BAD_REQUEST:
        return _REFUSED in reply.body
    return reply.status == HTTPStatus.INTERNAL_SERVER_ERROR and reply.body.strip() == _UNEXPECTED


def without_nulls(body: bytes) -> bytes | None:
    """A request without the null members of itself and its messages; None if it has none."""
    try:
        asked = msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.MsgspecError:
        return None
    messages = asked.get("messages")
    kept = _present(asked)
    if isinstance(messages, list):
        kept["messages"] = [_present(m) if isinstance(m, dict) else m for m in messages]
    return None if kept == asked else msgspec.json.encode(kept)


def sentence(url: str) -> str:
    """What the user is told of the server at `url`."""
    where = urlsplit(url).netloc
    return f"{where} failed on a call with null fields, which are left out from now on"


def _present(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
