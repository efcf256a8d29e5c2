"""For servers that take no null for a field that is not there: transformers' own, and vLLM for a
message without both text and tool calls.

The API of OpenAI has `"tool_calls": null` and no such field mean the same, and clients send both.
Imported once a server has failed.
"""

from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import msgspec

from prime_cli.models.gateway.calls import Reply

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
