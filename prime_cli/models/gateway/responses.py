"""The Responses API for endpoints that have only chat completions.

Loaded with the first call to it. An endpoint that has the API is asked as it is. For any other, and
for built-in models, the request is translated to a chat completion, which then passes all steps of
the gateway as such, and the completion back to a response.
"""

import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any

import msgspec

from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.calls import Call, CallFailed, Handler, Reply, read_head, read_usage
from prime_cli.models.gateway.responses_request import read_json, to_chat

CHAT = "chat/completions"
_ABSENT = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED)
_CUT = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""Why a response is incomplete, by the finish reason."""


class ResponsesApi:
    """The step that answers `POST /v1/responses`.

    `group_of` finds the endpoints of a model; `is_saved` says which calls are answered by a saved
    run, which knows chats only. `say` is told once of each endpoint whose calls are translated.
    """

    def __init__(
        self,
        group_of: Callable[[str | None], tuple[Endpoint, ...]],
        is_saved: Callable[[Call], bool],
        say: Callable[[str], None],
    ) -> None:
        self._group_of = group_of
        self._is_saved = is_saved
        self._say = say
        self._lacking: set[str] = set()

    async def __call__(self, call: Call, handler: Handler) -> Reply:
        endpoint = self._group_of(call.head.model)[0]
        if endpoint.builtin or self._is_saved(call) or endpoint.address in self._lacking:
            return await self._by_chat(call, handler, endpoint)
        reply = await handler(call)
        if reply.status not in _ABSENT or _names_earlier(call, reply):
            return reply
        # A model that is unknown is unknown there, too.
        translated = await self._by_chat(call, handler, endpoint)
        if translated.status == HTTPStatus.OK and endpoint.address not in self._lacking:
            self._lacking.add(endpoint.address)
            self._say(
                f"{endpoint.shown} has no Responses API: the environment's calls to it are "
                "translated to chat completions, without earlier reasoning, and streams come whole"
            )
        return translated

    async def _by_chat(self, call: Call, handler: Handler, endpoint: Endpoint) -> Reply:
        asked = read_json(call.body)
        body = msgspec.json.encode(to_chat(asked, endpoint.shown or endpoint.model))
        reply = await handler(replace(call, path=CHAT, body=body, head=read_head(body)))
        if reply.status != HTTPStatus.OK:
            return reply
        response = to_response(asked, _completion(reply.body, call))
        if asked.get("stream"):
            events = b"".join(to_events(response))
            return replace(reply, body=events, headers={"content-type": "text/event-stream"})
        return replace(reply, body=msgspec.json.encode(response))


def _names_earlier(call: Call, reply: Reply) -> bool:
    """Whether what was not found is an earlier response: the endpoint has the API."""
    earlier = read_json(call.body).get("previous_response_id")
    return isinstance(earlier, str) and earlier.encode() in reply.body


class _Function(msgspec.Struct):
    name: str = ""
    arguments: str | None = None


class _ToolCall(msgspec.Struct):
    id: str | None = ""
    function: _Function = msgspec.field(default_factory=_Function)


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[_ToolCall] | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    model: Any = None
    created: Any = None
    usage: Any = None


def _completion(body: bytes, call: Call) -> _Completion:
    try:
        found = msgspec.json.decode(body, type=_Completion)
        found.choices[0]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, IndexError) as error:
        raise CallFailed(
            f"The endpoint of `{call.head.model}` answered with no chat completion: {error}",
            status=502,
            blame="infra",
            code="no_completion",
            retryable=True,
        ) from error
    return found


def to_response(asked: Mapping[str, Any], found: _Completion) -> dict[str, Any]:
    """The response to the request `asked`, as OpenAI's SDK reads it."""
    choice = found.choices[0]
    cut = _CUT.get(choice.finish_reason or "")
    told = {name: asked.get(name) for name in _REPEATED}
    return {
        **told,
        "id": _new_id("resp"),
        "object": "response",
        "created_at": found.created if isinstance(found.created, int) else int(time.time()),
        "status": "incomplete" if cut else "completed",
        "error": None,
        "incomplete_details": {"reason": cut} if cut else None,
        "model": found.model or asked.get("model"),
        "output": list(_items(choice.message)),
        "parallel_tool_calls": asked.get("parallel_tool_calls", True),
        "tool_choice": asked.get("tool_choice") or "auto",
        "tools": asked.get("tools") or [],
        "usage": _usage(found.usage),
    }


_REPEATED = (
    "instructions", "max_output_tokens", "metadata", "reasoning", "temperature", "text", "top_p"
)  # fmt: skip
"""What a response repeats of its request; ids of earlier responses are refused."""


def _items(message: _Message) -> Iterator[dict[str, Any]]:
    reasoning = message.reasoning_content or message.reasoning
    if reasoning:
        content = [{"type": "reasoning_text", "text": reasoning}]
        yield {"type": "reasoning", "id": _new_id("rs"), "summary": [], "content": content}
    parts: list[dict[str, Any]] = []
    if message.content or not (message.tool_calls or message.refusal):
        text = message.content or ""
        parts.append({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
    if message.refusal:
        parts.append({"type": "refusal", "refusal": message.refusal})
    if parts:
        yield {
            "type": "message",
            "id": _new_id("msg"),
            "role": "assistant",
            "status": "completed",
            "content": parts,
        }
    for call in message.tool_calls or ():
        yield {
            "type": "function_call",
            "id": _new_id("fc"),
            "call_id": call.id,
            "name": call.function.name,
            "arguments": call.function.arguments or "{}",
            "status": "completed",
        }


def _usage(told: Any) -> dict[str, Any] | None:
    found = read_usage(told)
    if found is None:
        return None
    asked, said = found.asked or 0, found.said or 0
    return {
        "input_tokens": asked,
        "input_tokens_details": {"cached_tokens": found.cached, "cache_write_tokens": 0},
        "output_tokens": said,
        "output_tokens_details": {"reasoning_tokens": found.reasoning},
        "total_tokens": found.total or asked + said,
    }


def to_events(response: Mapping[str, Any]) -> Iterator[bytes]:
    """A whole response as the events of a stream."""
    for number, (kind, fields) in enumerate(_events(response)):
        data = msgspec.json.encode({"type": kind, "sequence_number": number, **fields})
        yield b"event: " + kind.encode() + b"\ndata: " + data + b"\n\n"


def _events(response: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    begun["incomplete_details"] = None
    yield "response.created", {"response": begun}
    yield "response.in_progress", {"response": begun}
    for index, item in enumerate(response["output"]):
        yield "response.output_item.added", {"output_index": index, "item": _opened(item)}
        yield from _within(item, {"output_index": index, "item_id": item["id"]})
        yield "response.output_item.done", {"output_index": index, "item": item}
    ended = "response.incomplete" if response["status"] == "incomplete" else "response.completed"
    yield ended, {"response": dict(response)}


def _opened(item: Mapping[str, Any]) -> dict[str, Any]:
    """An item as it is before anything of it was said."""
    if item["type"] == "function_call":
        return {**item, "status": "in_progress", "arguments": ""}
    return {**item, "content": []} | ({"status": "in_progress"} if "status" in item else {})


def _within(item: Mapping[str, Any], where: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    if item["type"] == "function_call":
        text = item["arguments"]
        yield "response.function_call_arguments.delta", {**where, "delta": text}
        done = {**where, "name": item["name"], "arguments": text}
        yield "response.function_call_arguments.done", done
        return
    for number, part in enumerate(item["content"]):
        place = {**where, "content_index": number}
        kind = part["type"]
        field = "refusal" if kind == "refusal" else "text"
        logprobs: dict[str, Any] = {"logprobs": []} if kind == "output_text" else {}
        yield "response.content_part.added", {**place, "part": {**part, field: ""}}
        yield f"response.{kind}.delta", {**place, "delta": part[field], **logprobs}
        yield f"response.{kind}.done", {**place, field: part[field], **logprobs}
        yield "response.content_part.done", {**place, "part": part}


def _new_id(kind: str) -> str:
    return f"{kind}_{uuid.uuid4().hex}"
