"""Completions in OpenAI's shape, whole or as a stream of events."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from prime_cli.models.gateway.streams import event

CHAT = "chat/completions"
TEXT = "completions"


@dataclass(frozen=True)
class Turn:
    """What a built-in model says; `asked` and `said_words` count words, in place of tokens.

    `ended` is the finish reason where it is not the usual one; `reasoning` goes beside the content.
    """

    content: str | None
    tool_calls: list[dict[str, Any]]
    asked: int
    ended: str | None = None
    reasoning: str | None = None

    @classmethod
    def of(cls, said: str | Mapping[str, Any], *, asked: int) -> "Turn":
        """A turn from a text, or from a message that may hold `tool_calls` and `finish_reason`."""
        if isinstance(said, str):
            return cls(said, [], asked)
        content = said.get("content")
        calls = [_tool_call(raw, n) for n, raw in enumerate(said.get("tool_calls") or [])]
        text = content if isinstance(content, str) else None
        reasoning = said.get("reasoning_content")
        return cls(
            text if calls or text is not None else "",
            calls,
            asked,
            ended=said.get("finish_reason"),
            reasoning=reasoning if isinstance(reasoning, str) else None,
        )

    @property
    def finish_reason(self) -> str:
        return self.ended or ("tool_calls" if self.tool_calls else "stop")

    @property
    def usage(self) -> dict[str, int]:
        """OpenAI's usage object, in words."""
        calls = " ".join(call["function"]["arguments"] for call in self.tool_calls)
        said = len(f"{self.content or ''} {calls}".split())
        return {
            "prompt_tokens": self.asked,
            "completion_tokens": said,
            "total_tokens": self.asked + said,
        }


def completion(turn: Turn, path: str, model: str, name: str, *, count: int = 1) -> bytes:
    """The JSON body of `count` equal choices."""
    choices = []
    for index in range(count):
        choice: dict[str, Any] = {"index": index, "finish_reason": turn.finish_reason}
        if path == CHAT:
            choice["message"] = _message(turn)
        else:
            choice["text"] = turn.content or ""
        choices.append(choice | {"logprobs": None})
    kind = "chat.completion" if path == CHAT else "text_completion"
    return msgspec.json.encode(_head(model, name, kind) | {"choices": choices, "usage": turn.usage})


async def completion_events(
    turn: Turn, path: str, model: str, name: str, *, count: int, with_usage: bool
) -> AsyncGenerator[bytes, None]:
    """The same as server-sent events: one delta a choice, the ends, the usage when asked for."""
    head = _head(model, name, "chat.completion.chunk" if path == CHAT else "text_completion")
    for index in range(count):
        for choice in _deltas(turn, path):
            yield event(msgspec.json.encode(head | {"choices": [{"index": index} | choice]}))
    if with_usage:
        yield event(msgspec.json.encode(head | {"choices": [], "usage": turn.usage}))
    yield event(b"[DONE]")


def _deltas(turn: Turn, path: str) -> list[dict[str, Any]]:
    if path != CHAT:
        return [{"text": turn.content or "", "finish_reason": turn.finish_reason}]
    message = _message(turn)
    if turn.tool_calls:
        message["tool_calls"] = [{"index": n} | call for n, call in enumerate(turn.tool_calls)]
    return [
        {"delta": message, "finish_reason": None},
        {"delta": {}, "finish_reason": turn.finish_reason},
    ]


def _message(turn: Turn) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": turn.content}
    if turn.tool_calls:
        message["tool_calls"] = turn.tool_calls
    if turn.reasoning is not None:
        message["reasoning_content"] = turn.reasoning
    return message


def _head(model: str, name: str, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{name}", "object": kind, "created": 0, "model": model}


def _tool_call(raw: Mapping[str, Any], index: int) -> dict[str, Any]:
    """A tool call as the wire has it, from that form or from `{name, arguments}`."""
    function = raw.get("function", raw)
    arguments = function.get("arguments", "{}")
    if not isinstance(arguments, str):
        arguments = msgspec.json.encode(arguments).decode()
    return {
        "id": raw.get("id") or f"call_{index}",
        "type": "function",
        "function": {"name": function.get("name", ""), "arguments": arguments},
    }
