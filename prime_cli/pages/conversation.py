"""The messages of a rollout as turns for a page: each tool call with its result beside it."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from prime_cli.runs.transcript import as_text

MOST_CHARACTERS = 20_000
"""Of one text on a page; the rest is in the downloads."""
_MOST_TURNS = 400
_IMAGES = ("data:image/png;base64,", "data:image/jpeg;base64,", "data:image/webp;base64,")
_LARGEST_IMAGE = 2_000_000
LEVELS = 5


class Text(NamedTuple):
    """A text as shown; `left_out` counts the characters that are not."""

    text: str
    left_out: int = 0
    is_json: bool = False


class Picture(NamedTuple):
    """An image: `source` is a `data:` URL, or empty where it is elsewhere, at `address`."""

    source: str
    address: str = ""


class ToolCall(NamedTuple):
    """A call of a tool, and what the tool answered, if it did."""

    name: str
    arguments: Text
    result: Text | None


class Token(NamedTuple):
    """A sampled token and its probability; `level` is that in five parts, 0 for the least."""

    text: str
    probability: float

    @property
    def level(self) -> int:
        return min(int(self.probability * LEVELS), LEVELS - 1)


class Turn(NamedTuple):
    """One message: what was thought, said and shown, and the tools that it called."""

    role: str
    reasoning: Text | None
    texts: Sequence[Text]
    pictures: Sequence[Picture] = ()
    calls: Sequence[ToolCall] = ()
    tokens: Sequence[Token] = ()


def turns_of(*parts: Any) -> list[Turn]:
    """The turns of a prompt and a completion, in their order: chat messages, or plain text."""
    messages = [message for part in parts for message in _messages(part)]
    results: dict[str, int] = {}
    for place, message in enumerate(messages):
        if message.get("role") == "tool" and isinstance(message.get("tool_call_id"), str):
            results.setdefault(message["tool_call_id"], place)
    used: set[int] = set()
    turns = []
    for place, message in enumerate(messages[:_MOST_TURNS]):
        if place not in used:
            turns.append(_turn(message, messages, results, used))
    if len(messages) > _MOST_TURNS:
        more = f"{len(messages) - _MOST_TURNS:,} more messages are in the downloads"
        turns.append(Turn("note", None, [Text(more)]))
    return turns


def shown_text(value: Any) -> Text:
    """A text, or another value as indented JSON; cut after `MOST_CHARACTERS`."""
    decoded = _decode(value) if isinstance(value, str) else value
    is_json = isinstance(decoded, dict | list)
    text = (
        json.dumps(decoded, ensure_ascii=False, indent=2, default=str)
        if is_json
        else as_text(value)
    )
    return Text(text[:MOST_CHARACTERS], max(len(text) - MOST_CHARACTERS, 0), is_json)


def tokens_of(value: Any) -> list[Token]:
    """The sampled tokens in `logprobs` of the OpenAI API; none if there are none."""
    content = value.get("content") if isinstance(value, Mapping) else None
    found = []
    for each in content if isinstance(content, list) else ():
        logprob = finite(each.get("logprob")) if isinstance(each, Mapping) else None
        if logprob is not None:
            found.append(Token(str(each.get("token", "")), math.exp(min(logprob, 0.0))))
    return found


def finite(value: Any) -> float | None:
    """`value` as a number; None for NaN, an infinity, one too large, and what is no number."""
    try:
        number = float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _messages(part: Any) -> Iterator[Mapping[str, Any]]:
    if part in (None, "", []):
        return
    for message in part if isinstance(part, list) else [part]:
        yield message if isinstance(message, dict) else {"role": "text", "content": message}


def _turn(
    message: Mapping[str, Any],
    messages: Sequence[Mapping[str, Any]],
    results: Mapping[str, int],
    used: set[int],
) -> Turn:
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    texts, pictures = _content(message.get("content"))
    calls = message.get("tool_calls")
    return Turn(
        str(message.get("role", "message")),
        shown_text(reasoning) if reasoning else None,
        texts,
        pictures,
        [_call(each, messages, results, used) for each in calls] if isinstance(calls, list) else [],
        tokens_of(message.get("logprobs")),
    )


def _content(content: Any) -> tuple[list[Text], list[Picture]]:
    if content in (None, "", []):
        return [], []
    if not isinstance(content, list):
        return [_as_said(content)], []
    texts, pictures = [], []
    for part in content:
        address = _image_address(part)
        if address is not None:
            pictures.append(_picture(address))
        else:
            said = part.get("text") if isinstance(part, dict) else part
            texts.append(_as_said(part if said is None else said))
    return texts, pictures


def _as_said(value: Any) -> Text:
    """What was said, unchanged: only other values than text are laid out as JSON."""
    if not isinstance(value, str):
        return shown_text(value)
    return Text(value[:MOST_CHARACTERS], max(len(value) - MOST_CHARACTERS, 0))


def _image_address(part: Any) -> str | None:
    image = part.get("image_url") if isinstance(part, dict) else None
    address = image.get("url") if isinstance(image, dict) else image
    return address if isinstance(address, str) else None


def _picture(address: str) -> Picture:
    """Pages ask no other host: only an image inside the message is shown."""
    if address.startswith(_IMAGES) and len(address) <= _LARGEST_IMAGE:
        return Picture(address)
    return Picture("", address[:200] if not address.startswith("data:") else "a large image")


def _call(
    call: Any,
    messages: Sequence[Mapping[str, Any]],
    results: Mapping[str, int],
    used: set[int],
) -> ToolCall:
    # verifiers keeps tool calls as objects, or (0.1.x files) as JSON in a string.
    found = _decode(call) if isinstance(call, str) else call
    if not isinstance(found, dict):
        return ToolCall("tool", shown_text(call), None)
    function = found.get("function")
    function = function if isinstance(function, dict) else found
    number = found.get("id")
    place = results.get(number) if isinstance(number, str) else None
    result = None
    if place is not None and place not in used:
        used.add(place)
        result = _result(messages[place].get("content"))
    return ToolCall(
        str(function.get("name", "tool")), shown_text(function.get("arguments", "")), result
    )


def _result(content: Any) -> Text:
    if isinstance(content, list):
        texts = [part.get("text") if isinstance(part, dict) else part for part in content]
        content = "\n".join("[not text]" if text is None else str(text) for text in texts)
    return shown_text("" if content is None else content)


def _decode(text: str) -> Any:
    """The JSON object or list in `text`, else the text."""
    if len(text) > MOST_CHARACTERS or not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
