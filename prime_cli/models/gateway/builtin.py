"""Models without key or network: `builtin/echo`, `builtin/oracle` and replays.

They are deterministic, and answer in OpenAI's format, whole or as an event stream. Their usage
counts words, so it is marked as estimated.
"""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from prime_cli.core.builtin_models import ECHO, ORACLE, PROBES, REPLAY, VERDICTS
from prime_cli.models.gateway.calls import Call, CallFailed, Reply
from prime_cli.models.gateway.oracle import (
    GoldAnswers,
    Message,
    OracleFailed,
    OracleQuestion,
    Probes,
    Script,
    verdict,
)
from prime_cli.models.gateway.replay import Recording, replay
from prime_cli.models.gateway.streams import event

CHAT = "chat/completions"
TEXT = "completions"


@dataclass(frozen=True)
class BuiltinAnswer:
    """A built-in model's answer; `asked` and `said_words` count words, in place of tokens.

    `ended` is the finish reason if unusual; `reasoning` accompanies the content.
    """

    content: str | None
    tool_calls: list[dict[str, Any]]
    asked: int
    ended: str | None = None
    reasoning: str | None = None

    @classmethod
    def of(cls, said: str | Mapping[str, Any], *, asked: int) -> "BuiltinAnswer":
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


def completion(turn: BuiltinAnswer, path: str, model: str, name: str, *, count: int = 1) -> bytes:
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
    turn: BuiltinAnswer, path: str, model: str, name: str, *, count: int, with_usage: bool
) -> AsyncGenerator[bytes, None]:
    """The same as server-sent events: one delta per choice, the ends, and usage if requested."""
    head = _head(model, name, "chat.completion.chunk" if path == CHAT else "text_completion")
    for index in range(count):
        for choice in _deltas(turn, path):
            yield event(msgspec.json.encode(head | {"choices": [{"index": index} | choice]}))
    if with_usage:
        yield event(msgspec.json.encode(head | {"choices": [], "usage": turn.usage}))
    yield event(b"[DONE]")


def _deltas(turn: BuiltinAnswer, path: str) -> list[dict[str, Any]]:
    if path != CHAT:
        return [{"text": turn.content or "", "finish_reason": turn.finish_reason}]
    message = _message(turn)
    if turn.tool_calls:
        message["tool_calls"] = [{"index": n} | call for n, call in enumerate(turn.tool_calls)]
    return [
        {"delta": message, "finish_reason": None},
        {"delta": {}, "finish_reason": turn.finish_reason},
    ]


def _message(turn: BuiltinAnswer) -> dict[str, Any]:
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


class ChatRequest(msgspec.Struct):
    """What a built-in model reads from a completion request."""

    model: str = ""
    messages: list[dict[str, Any]] = []
    prompt: str | list[str] = ""
    tools: list[dict[str, Any]] | None = None
    n: int | None = None
    stream: bool | None = None


_decoder = msgspec.json.Decoder(ChatRequest)


class BuiltinModels:
    """Answers calls to `builtin/…` models.

    `recording` is what the run's own replays, `script` what speaks in place of the probes.
    """

    def __init__(
        self,
        gold: GoldAnswers,
        run_id: str,
        recording: Recording | None = None,
        script: Script | None = None,
    ) -> None:
        self._gold = gold
        self._script = script
        self._recording = recording
        self._run_id = run_id
        self._served = 0
        self._probes = Probes()

    async def __call__(self, call: Call, model: str) -> Reply:
        if call.path == "models" and call.method == "GET":
            return _list_models(model)
        if call.method != "POST" or call.path not in (CHAT, TEXT):
            raise _refusal(f"`{model}` answers {CHAT} and {TEXT}, not {call.path}", 404)
        try:
            request = _decoder.decode(call.body)
        except msgspec.MsgspecError as error:
            raise _refusal(f"The request is not for a completion: {error}", 400) from error
        said = await self._say(call, request, model)
        self._served += 1
        turn = BuiltinAnswer.of(said, asked=_asked_words(request))
        name = f"{self._run_id}-{self._served}"
        return _reply(turn, call, request, name)

    async def _say(self, call: Call, request: ChatRequest, model: str) -> Message:
        if model == ORACLE:
            return await self._oracle(call, request)
        if model.startswith(REPLAY):
            given = request.messages if call.path == CHAT else last_user_text(request)
            return replay(self._recording, model, call.identity, given)
        asked = last_user_text(request)
        if model == PROBES and self._script is not None and call.identity.example is not None:
            messages = request.messages or [{"role": "user", "content": asked}]
            question = OracleQuestion(call.identity.example, messages, request.tools or [])
            return await self._script(call.identity, question)
        if model == PROBES:
            return await self._probes.answer(
                call.identity, lambda: self._oracle(call, request), asked
            )
        if model == VERDICTS:
            return verdict(asked)
        if model != ECHO:
            raise _refusal(f"No server of `{model}` runs for this call", 404)
        return asked

    async def _oracle(self, call: Call, request: ChatRequest) -> Message:
        if call.identity.example is None:
            raise _refusal(
                f"`{ORACLE}` knows the answer only of a rollout's call, and this one names none: "
                "it did not come through the client that the environment was given",
                400,
            )
        question = OracleQuestion(call.identity.example, request.messages, request.tools or [])
        try:
            return await self._gold.answer(question)
        except OracleFailed as error:
            raise _refusal(str(error), 422) from error


def last_user_text(request: ChatRequest) -> str:
    """The text of the newest user message; of a text completion, its prompt."""
    for message in reversed(request.messages):
        if message.get("role") == "user":
            return content_text(message.get("content"))
    return request.prompt if isinstance(request.prompt, str) else " ".join(request.prompt)


def content_text(content: object) -> str:
    """The text of a message's content: a string, or parts of which some are text."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "\n".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _asked_words(request: ChatRequest) -> int:
    asked = [content_text(message.get("content")) for message in request.messages]
    return sum(len(text.split()) for text in asked or [last_user_text(request)])


def _reply(turn: BuiltinAnswer, call: Call, request: ChatRequest, name: str) -> Reply:
    count = max(1, min(request.n or 1, 128))
    if request.stream:
        options = call.head.stream_options
        with_usage = options is not None and options.include_usage
        events = completion_events(
            turn, call.path, request.model, name, count=count, with_usage=with_usage
        )
        headers = {"content-type": "text/event-stream"}
        return Reply(200, headers=headers, chunks=events, estimated=True)
    body = completion(turn, call.path, request.model, name, count=count)
    return Reply(200, body, {"content-type": "application/json"}, estimated=True)


def _list_models(model: str) -> Reply:
    listed = [{"id": model, "object": "model", "created": 0, "owned_by": "prime"}]
    body = msgspec.json.encode({"object": "list", "data": listed})
    return Reply(200, body, {"content-type": "application/json"})


def _refusal(message: str, status: int) -> CallFailed:
    return CallFailed(message, status=status, blame="environment", code="builtin_model")
