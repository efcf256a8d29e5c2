"""Models that need no key and no network: `builtin/echo`, `builtin/oracle` and replays.

They are deterministic. Their usage counts words, so it is marked as estimated.
"""

from typing import Any

import msgspec

from prime_cli.models.endpoints import REPLAY
from prime_cli.models.gateway.calls import Call, CallFailed, Reply
from prime_cli.models.gateway.completions import CHAT, TEXT, Turn, completion, completion_events
from prime_cli.models.gateway.oracle import GoldAnswers, Message, OracleFailed, OracleQuestion
from prime_cli.models.gateway.probes import PROBES, Probes
from prime_cli.models.gateway.replay import Recording, replay

ORACLE = "builtin/oracle"


class ChatRequest(msgspec.Struct):
    """What a built-in model reads of a request for a completion."""

    model: str = ""
    messages: list[dict[str, Any]] = []
    prompt: str | list[str] = ""
    tools: list[dict[str, Any]] | None = None
    n: int | None = None
    stream: bool | None = None


_decoder = msgspec.json.Decoder(ChatRequest)


class BuiltinModels:
    """Answers calls to `builtin/…` models; `recording` is what the run's own replays."""

    def __init__(self, gold: GoldAnswers, run_id: str, recording: Recording | None = None) -> None:
        self._gold = gold
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
            raise _refusal(f"The request is not a completion's: {error}", 400) from error
        said = await self._say(call, request, model)
        self._served += 1
        turn = Turn.of(said, asked=_asked_words(request))
        name = f"{self._run_id}-{self._served}"
        return _reply(turn, call, request, name)

    async def _say(self, call: Call, request: ChatRequest, model: str) -> Message:
        if model == ORACLE:
            return await self._oracle(call, request)
        if model.startswith(REPLAY):
            given = request.messages if call.path == CHAT else last_user_text(request)
            return replay(self._recording, model, call.identity, given)
        asked = last_user_text(request)
        if model == PROBES:
            return await self._probes.answer(
                call.identity, lambda: self._oracle(call, request), asked
            )
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


def _reply(turn: Turn, call: Call, request: ChatRequest, name: str) -> Reply:
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
