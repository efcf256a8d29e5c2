"""`builtin/replay:RUN`: repeat what a model said in a saved run, given the same conversation.

A call is answered by the turn that followed the same messages in the recording, so repeated calls
get the same answer. Messages that were not recorded get none: no model ever gave any other turn
there.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from prime_cli.models.gateway.calls import POLICY, Call, CallFailed, CallIdentity, Handler, Reply

REFUSED = 422


@dataclass(frozen=True)
class Recorded:
    """One saved rollout: messages, or the strings of a text completion.

    `ended_by` names the error that it ended with; `was_cut` says that its last answer hit a limit.
    """

    prompt: Any
    completion: Any
    ended_by: str | None = None
    was_cut: bool = False


class Recording(Protocol):
    """The rollouts of a saved run, which the model `model` repeats."""

    @property
    def model(self) -> str: ...

    def find(self, example: int, rollout: int) -> Recorded | None:
        """A saved rollout, None if the run has none of that number."""


class ReplayStep:
    """Answers the policy's calls of the rollouts in `saved`; passes others on.

    These calls reach no endpoint, so it comes before everything that counts, limits and caps calls.
    """

    def __init__(self, saved: Recording, answer: Callable[[Call, str], Awaitable[Reply]]) -> None:
        self._saved = saved
        self._answer = answer

    async def __call__(self, call: Call, handler: Handler) -> Reply:
        if not self.answers(call):
            return await handler(call)
        return await self._answer(call, self._saved.model)

    def answers(self, call: Call) -> bool:
        """Whether `call` is the policy's in a saved rollout."""
        example, rollout, _, role = call.identity
        if role != POLICY or example is None or rollout is None:
            return False
        return self._saved.find(example, rollout) is not None


def replay(
    recording: Recording | None, model: str, identity: CallIdentity, messages: Any
) -> Mapping[str, Any]:
    """The recorded turn that follows `messages` (a string for a text completion) as a message.

    Raises CallFailed, which blames the environment, where the recording has no such turn.
    """
    if recording is None or recording.model != model:
        raise _refusal(
            f"`{model}` is not the model of this run, which is the only one that is replayed"
        )
    if identity.example is None or identity.rollout is None or identity.role != POLICY:
        raise _refusal(f"`{model}` holds the policy's turns only, and this call is not one of them")
    where = f"example {identity.example}, rollout {identity.rollout}"
    recorded = recording.find(identity.example, identity.rollout)
    if recorded is None:
        raise _refusal(f"`{model}` has no {where}")
    if not recorded.completion:
        raise _refusal(f"`{model}` has no completion of {where}{_ending(recorded)}")
    if isinstance(messages, str):
        return _text(recorded, messages, where)
    return _turn(recorded, messages, where)


def _text(recorded: Recorded, prompt: str, where: str) -> Mapping[str, Any]:
    if _as_text(recorded.prompt) != prompt:
        raise _diverged(where, 1, "the prompt differs")
    said: dict[str, Any] = {"content": _as_text(recorded.completion)}
    return said | ({"finish_reason": "length"} if recorded.was_cut else {})


def _turn(recorded: Recorded, messages: Sequence[Any], where: str) -> Mapping[str, Any]:
    if isinstance(recorded.completion, str):
        raise _diverged(where, 1, "a text completion was recorded, but this is a chat")
    asked = recorded.prompt
    if isinstance(asked, str):
        asked = [{"role": "user", "content": asked}]
    whole = [*(asked or []), *recorded.completion]
    place = len(messages)
    for number, message in enumerate(messages):
        if number >= len(whole) or essence(message) != essence(whole[number]):
            role = message.get("role") if isinstance(message, dict) else "?"
            told = f"message {number + 1} ({role}) differs"
            raise _diverged(where, _turns_in(whole[:number]) + 1, told)
    turn = _turns_in(whole[:place]) + 1
    if place == len(whole):
        raise _refusal(
            f"The recording of {where} ends before turn {turn}{_ending(recorded)}: "
            "the environment now takes more turns",
        )
    following = whole[place]
    if following.get("role") != "assistant":
        raise _diverged(where, turn, f"a {following.get('role')} message was to come first")
    was_last = place == len(whole) - 1
    said = {
        "content": essence(following)[1] or None,
        "tool_calls": [_decoded(call) for call in following.get("tool_calls") or ()],
        "reasoning_content": following.get("reasoning_content"),
    }
    return said | ({"finish_reason": "length"} if was_last and recorded.was_cut else {})


def essence(message: Any) -> tuple[Any, ...]:
    """What makes two messages equal: role, text, kinds of other content, tool calls.

    Not the ids of calls, nor their nesting: releases of verifiers save them in three shapes.
    """
    if not isinstance(message, dict):
        return (repr(message),)
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    text, others = [], []
    for part in parts:
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            text.append(part["text"])
        else:
            others.append(part.get("type") if isinstance(part, dict) else repr(part))
    calls = tuple(_call_essence(call) for call in message.get("tool_calls") or ())
    return (message.get("role"), "\n".join(text), tuple(others), calls)


def _call_essence(call: Any) -> tuple[Any, Any]:
    call = _decoded(call)
    if not isinstance(call, dict):
        return (None, call)
    function = call.get("function", call)
    return function.get("name"), _decoded(function.get("arguments"))


def _decoded(value: Any) -> Any:
    """What a JSON string says, anything else as it is."""
    if not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value)
    except msgspec.DecodeError:
        return value


def _as_text(value: Any) -> str:
    if isinstance(value, list):
        return "".join(str(part.get("content") or "") for part in value if isinstance(part, dict))
    return value if isinstance(value, str) else ""


def _turns_in(messages: Sequence[Any]) -> int:
    said = (message.get("role") for message in messages if isinstance(message, dict))
    return sum(role == "assistant" for role in said)


def _ending(recorded: Recorded) -> str:
    return f" (it ended with {recorded.ended_by})" if recorded.ended_by else ""


def _diverged(where: str, turn: int, why: str) -> CallFailed:
    return _refusal(
        f"The conversation of {where} differs from the recorded one at turn {turn}: {why}",
        code="replay_diverged",
    )


def _refusal(message: str, *, code: str = "not_recorded") -> CallFailed:
    return CallFailed(message, status=REFUSED, blame="environment", code=code)
