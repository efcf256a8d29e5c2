"""A request of the Responses API as one for a chat completion."""

from collections.abc import Mapping
from typing import Any

import msgspec

from prime_cli.models.gateway.calls import CallFailed

ChatFields = dict[str, Any]

_STATEFUL = ("background", "conversation", "previous_response_id", "prompt")
"""What only the server that keeps responses can do."""
_WITHOUT_EFFECT = frozenset(
    "include metadata prompt_cache_key prompt_cache_retention safety_identifier service_tier store "
    "stream_options truncation".split()
)
"""What a chat completion does not need, or its server may refuse."""
_TRANSLATED = frozenset(
    "input instructions max_output_tokens reasoning stream text tool_choice tools".split()
)
_ROLES = {"developer": "system"}
"""Roles that servers of chat completions do not all know."""
_TEXTS = ("input_text", "output_text", "text", "summary_text")


def read_json(body: bytes) -> dict[str, Any]:
    """The request; raises CallFailed for what is no JSON object."""
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise _refused(f"The request is not one of the Responses API: {error}") from error


def to_chat(asked: Mapping[str, Any], where: str) -> ChatFields:
    """The same request for a chat completion, whole and not as a stream.

    Raises CallFailed, with a sentence that names `where`, for what has no equal there.
    """
    for name in _STATEFUL:
        if asked.get(name):
            raise _untranslatable(f"`{name}`", where)
    known = _STATEFUL + tuple(_WITHOUT_EFFECT | _TRANSLATED)
    fields = {name: value for name, value in asked.items() if name not in known}
    fields["messages"] = _Messages(where).read(asked.get("instructions"), asked.get("input"))
    if asked.get("max_output_tokens") is not None:
        fields["max_tokens"] = asked["max_output_tokens"]
    if effort := (asked.get("reasoning") or {}).get("effort"):
        fields["reasoning_effort"] = effort
    text = asked.get("text") or {}
    if text.get("verbosity"):
        fields["verbosity"] = text["verbosity"]
    fields |= _format(text.get("format") or {}, where)
    tools = [_tool(tool, where) for tool in asked.get("tools") or ()]
    if tools:
        fields["tools"] = tools
        fields |= _choice(asked.get("tool_choice"), where)
    else:
        fields.pop("parallel_tool_calls", None)
    return {name: value for name, value in fields.items() if value is not None}


class _Messages:
    """Items of a response, which are said one by one, as messages."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._said: list[dict[str, Any]] = []

    def read(self, instructions: Any, given: Any) -> list[dict[str, Any]]:
        if instructions:
            self._said.append({"role": "system", "content": self._content(instructions)})
        items = [{"role": "user", "content": given}] if isinstance(given, str) else given or []
        for item in items:
            self._add(item)
        return self._said

    def _add(self, item: Mapping[str, Any]) -> None:
        kind = item.get("type") or "message"
        if kind == "message":
            role = str(item.get("role") or "user")
            content = self._content(item.get("content"))
            self._said.append({"role": _ROLES.get(role, role), "content": content})
        elif kind == "function_call":
            function = {"name": item.get("name"), "arguments": item.get("arguments") or "{}"}
            call = {"id": item.get("call_id"), "type": "function", "function": function}
            self._answer().setdefault("tool_calls", []).append(call)
        elif kind == "function_call_output":
            content = self._content(item.get("output"))
            self._said.append(
                {"role": "tool", "tool_call_id": item.get("call_id"), "content": content}
            )
        elif kind != "reasoning":  # which no other server could read
            raise _untranslatable(f"an item of the type `{kind}`", self._where)

    def _answer(self) -> dict[str, Any]:
        """The assistant's message that a tool call belongs to."""
        if not self._said or self._said[-1]["role"] != "assistant":
            self._said.append({"role": "assistant", "content": None})
        return self._said[-1]

    def _content(self, content: Any) -> Any:
        """Text, or parts where some of them are images."""
        if content is None or isinstance(content, str):
            return content or ""
        parts = [self._part(part) for part in content]
        if all(part["type"] == "text" for part in parts):
            return "".join(part["text"] for part in parts)
        return parts

    def _part(self, part: Mapping[str, Any]) -> dict[str, Any]:
        kind = part.get("type")
        if kind in _TEXTS:
            return {"type": "text", "text": part.get("text") or ""}
        if kind == "refusal":
            return {"type": "text", "text": part.get("refusal") or ""}
        if kind == "input_image" and part.get("image_url"):
            image = {"url": part["image_url"], "detail": part.get("detail") or "auto"}
            return {"type": "image_url", "image_url": image}
        raise _untranslatable(f"content of the type `{kind}`", self._where)


def _tool(tool: Mapping[str, Any], where: str) -> dict[str, Any]:
    if tool.get("type") != "function":
        raise _untranslatable(f"the tool `{tool.get('type')}`", where)
    return {"type": "function", "function": _without_type(tool)}


def _choice(choice: Any, where: str) -> ChatFields:
    if choice is None or isinstance(choice, str):
        return {} if choice is None else {"tool_choice": choice}
    if choice.get("type") != "function":
        raise _untranslatable(f"the tool choice `{choice.get('type')}`", where)
    return {"tool_choice": {"type": "function", "function": {"name": choice.get("name")}}}


def _format(wanted: Mapping[str, Any], where: str) -> ChatFields:
    kind = wanted.get("type", "text")
    if kind == "text":
        return {}
    if kind == "json_object":
        return {"response_format": {"type": kind}}
    if kind == "json_schema":
        return {"response_format": {"type": kind, "json_schema": _without_type(wanted)}}
    raise _untranslatable(f"the format `{kind}`", where)


def _without_type(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {n: value for n, value in fields.items() if n != "type" and value is not None}


def _untranslatable(what: str, where: str) -> CallFailed:
    return _refused(
        f"{where} has no Responses API, and {what} cannot be translated to chat completions"
    )


def _refused(message: str) -> CallFailed:
    return CallFailed(message, status=400, blame="environment", code="responses_api")
