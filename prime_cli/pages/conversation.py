"""The messages of a rollout as turns for a page: each tool call with its result beside it."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from prime_cli.pages.json_diff import JsonDiff, diff_json
from prime_cli.runs.transcript import as_text

MOST_CHARACTERS = 20_000
"""Of one text on a page; the rest is in the downloads."""
_MOST_TURNS = 400
_MOST_PARTS = 2_000
"""Texts, pictures and calls of a page; who pushes a sample decides how many it has."""
_MOST_PAGE_CHARACTERS = 1_000_000
_MOST_JSON = 150_000
"""Characters of a page that are indented, which takes a hundred times as long as to show them."""
_MOST_TOKENS = 5_000
"""Of a page; each is an element of it."""
_IMAGES = ("data:image/png;base64,", "data:image/jpeg;base64,", "data:image/webp;base64,")
_LARGEST_IMAGE = 2_000_000
_LONGEST_NAME = 200
_MOST_DIFFS = 10
_FENCE = re.compile(r"^```(?:json)?[ \t]*\n(.*?)^```", re.MULTILINE | re.DOTALL | re.IGNORECASE)
"""A block of JSON in what a model says."""
LEVELS = 5


T = TypeVar("T")


class Text(NamedTuple):
    """A text as shown; `left_out` counts the characters that are not, None for unknown many."""

    text: str
    left_out: int | None = 0
    is_json: bool = False


class Picture(NamedTuple):
    """An image: `source` is a `data:` URL, or empty where it is elsewhere, at `address`."""

    source: str
    address: str = ""


class ToolCall(NamedTuple):
    """A call of a tool, and what the tool answered, if it did.

    `changes` are those since the tool's result before this, where both are JSON.
    """

    name: str
    arguments: Text
    result: Text | None
    changes: JsonDiff | None = None


class Token(NamedTuple):
    """A sampled token and its probability; `level` is that in five parts, 0 for the least."""

    text: str
    probability: float

    @property
    def level(self) -> int:
        return min(int(self.probability * LEVELS), LEVELS - 1)


class Tokens(NamedTuple):
    """Sampled tokens as shown, and how many more there are."""

    shown: Sequence[Token] = ()
    left_out: int = 0


NO_TOKENS = Tokens()
_TOO_DEEP = Text("This is nested too deeply to be shown.", None)


class Turn(NamedTuple):
    """One message: what was thought, said and shown, and the tools that it called."""

    role: str
    reasoning: Text | None
    texts: Sequence[Text]
    pictures: Sequence[Picture] = ()
    calls: Sequence[ToolCall] = ()
    tokens: Tokens = NO_TOKENS


def turns_of(*parts: Any) -> list[Turn]:
    """The turns of a prompt and a completion, in their order: chat messages, or plain text."""
    layout = _Layout([message for part in parts for message in _messages(part)])
    turns = list(layout.turns())
    notes = [Text(note) for note in layout.notes()]
    return [*turns, Turn("note", None, notes)] if notes else turns


class _Layout:
    """Lays messages out for one page, as far as it has room: who pushes a sample has no limit."""

    def __init__(self, messages: Sequence[Mapping[str, Any]]) -> None:
        self._messages = messages
        self._results: dict[str, int] = {}
        for place, message in enumerate(messages):
            if message.get("role") == "tool" and isinstance(message.get("tool_call_id"), str):
                self._results.setdefault(message["tool_call_id"], place)
        self._used: set[int] = set()
        self._parts, self._characters, self._tokens = (
            _MOST_PARTS,
            _MOST_PAGE_CHARACTERS,
            _MOST_TOKENS,
        )
        self._left_out = 0
        self._json = _MOST_JSON
        self._states: dict[str, Any] = {}
        self._diffs = _MOST_DIFFS

    def turns(self) -> Iterator[Turn]:
        """Each message but the results that stand beside their calls."""
        for place, message in enumerate(self._messages[:_MOST_TURNS]):
            if place not in self._used:
                yield self._turn(message)

    def notes(self) -> Iterator[str]:
        """What found no room, once the turns were taken."""
        if (more := len(self._messages) - _MOST_TURNS) > 0:
            yield f"{more:,} more messages are in the downloads"
        if self._left_out:
            yield f"{self._left_out:,} more parts of messages are in the downloads"

    def _turn(self, message: Mapping[str, Any]) -> Turn:
        reasoning = message.get("reasoning_content") or message.get("reasoning")
        thought = self._text(reasoning) if reasoning else None
        texts, pictures = self._content(message.get("content"))
        calls = message.get("tool_calls")
        called = [self._call(each) for each in self._take(calls if isinstance(calls, list) else [])]
        tokens = tokens_of(message.get("logprobs"), most=self._tokens)
        self._tokens -= len(tokens.shown)
        return Turn(
            str(message.get("role", "message"))[:_LONGEST_NAME],
            thought,
            texts,
            pictures,
            called,
            tokens,
        )

    def _content(self, content: Any) -> tuple[list[Text], list[Picture]]:
        if content in (None, "", []):
            return [], []
        if not isinstance(content, list):
            return [self._as_said(content)], []
        texts, pictures = [], []
        for part in self._take(content):
            address = _image_address(part)
            if address is not None:
                pictures.append(_picture(address))
            else:
                said = part.get("text") if isinstance(part, dict) else part
                texts.append(self._as_said(part if said is None else said))
        return texts, pictures

    def _call(self, call: Any) -> ToolCall:
        # verifiers keeps tool calls as objects, or (0.1.x files) as JSON in a string.
        found = _decode(call) if isinstance(call, str) else call
        if not isinstance(found, dict):
            return ToolCall("tool", self._text(call), None)
        function = found.get("function")
        function = function if isinstance(function, dict) else found
        number = found.get("id")
        place = self._results.get(number) if isinstance(number, str) else None
        name = str(function.get("name", "tool"))[:_LONGEST_NAME]
        arguments = self._text(function.get("arguments", ""))
        if place is None or place in self._used:
            return ToolCall(name, arguments, None)
        self._used.add(place)
        state = self._decoded(_result_of(self._messages[place]))
        result = self._laid_out(state)
        return ToolCall(name, arguments, result, self._changes(name, state, result))

    def _changes(self, name: str, state: Any, result: Text) -> JsonDiff | None:
        """What is new in a result of the tool `name` since its last one."""
        if not result.is_json or result.left_out != 0:
            return None
        before = self._states.get(name)
        self._states[name] = state
        if type(before) is not type(state) or self._diffs == 0:
            return None
        self._diffs -= 1
        return diff_json(before, state)

    def _as_said(self, value: Any) -> Text:
        """What was said, unchanged: only other values than text are laid out as JSON."""
        most = min(MOST_CHARACTERS, self._characters)
        return self._counted(_cut(value, most)) if isinstance(value, str) else self._text(value)

    def _text(self, value: Any) -> Text:
        return self._laid_out(self._decoded(value))

    def _decoded(self, value: Any) -> Any:
        """The JSON in a text, while there is room to indent it."""
        return _decode(value) if isinstance(value, str) and self._json > 0 else value

    def _laid_out(self, value: Any) -> Text:
        most = min(MOST_CHARACTERS, self._characters)
        if not isinstance(value, dict | list):
            return self._counted(_cut(as_text(value), most))
        text = _laid_out(value, most) if self._json > 0 else _in_one_line(value, most)
        self._json -= len(text.text)
        return self._counted(text)

    def _counted(self, text: Text) -> Text:
        self._characters -= len(text.text)
        return text

    def _take(self, parts: Sequence[T]) -> Sequence[T]:
        """As many of `parts` as there is room for."""
        taken = parts[: self._parts]
        self._parts -= len(taken)
        self._left_out += len(parts) - len(taken)
        return taken


def _result_of(message: Mapping[str, Any]) -> Any:
    content = message.get("content")
    if isinstance(content, list):
        texts = [part.get("text") if isinstance(part, dict) else part for part in content]
        return "\n".join("[not text]" if text is None else str(text) for text in texts)
    return "" if content is None else content


def diff_answer(answer: Any, completion: Any) -> JsonDiff | None:
    """How what was said last differs from the expected answer, where both are JSON."""
    expected, said = _json_in(answer), _json_in(_said_last(completion))
    if type(expected) is not type(said) or expected is None:
        return None
    return diff_json(expected, said)


def _said_last(completion: Any) -> Any:
    last = completion[-1] if isinstance(completion, list) and completion else completion
    return _result_of(last) if isinstance(last, dict) else last


def _json_in(value: Any) -> dict[str, Any] | list[Any] | None:
    """An object or a list, or the one in a text, alone or in the last of its fences."""
    if isinstance(value, str) and len(value) <= MOST_CHARACTERS:
        fences = _FENCE.findall(value)
        value = _decode(fences[-1] if fences else value)
    is_shown = isinstance(value, dict | list) and shown_text(value).left_out == 0
    return value if is_shown else None


def shown_text(value: Any, most: int = MOST_CHARACTERS) -> Text:
    """A text, or another value as indented JSON; cut after `most` characters."""
    decoded = _decode(value) if isinstance(value, str) else value
    if isinstance(decoded, dict | list):
        return _laid_out(decoded, most)
    return _cut(as_text(value), most)


def _cut(text: str, most: int) -> Text:
    return Text(text[:most], max(len(text) - most, 0))


def _laid_out(value: Any, most: int) -> Text:
    """`value` as indented JSON, made only as far as it is shown."""
    encoder = json.JSONEncoder(ensure_ascii=False, indent=2, default=str)
    text = ""
    try:
        for part in encoder.iterencode(value):
            text += part
            if len(text) > most:
                return Text(text[:most], None, is_json=True)
    except RecursionError:
        return _TOO_DEEP
    return Text(text, is_json=True)


def _in_one_line(value: Any, most: int) -> Text:
    try:
        return _cut(msgspec.json.encode(value, enc_hook=str).decode(), most)
    except UnicodeEncodeError:  # half a surrogate pair, which json escapes, and takes longer
        return _cut(as_text(value), most)
    except RecursionError:
        return _TOO_DEEP


def tokens_of(*values: Any, most: int = _MOST_TOKENS) -> Tokens:
    """The first sampled tokens in each `logprobs` of the OpenAI API; none if there are none."""
    found: list[Token] = []
    left_out = 0
    for value in values:
        content = value.get("content") if isinstance(value, Mapping) else None
        for each in content if isinstance(content, list) else ():
            logprob = finite(each.get("logprob")) if isinstance(each, Mapping) else None
            if logprob is None:
                continue
            if len(found) < most:
                found.append(Token(str(each.get("token", "")), math.exp(min(logprob, 0.0))))
            else:
                left_out += 1
    return Tokens(found, left_out)


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


def _image_address(part: Any) -> str | None:
    image = part.get("image_url") if isinstance(part, dict) else None
    address = image.get("url") if isinstance(image, dict) else image
    return address if isinstance(address, str) else None


def _picture(address: str) -> Picture:
    """Pages ask no other host: only an image inside the message is shown."""
    if address.startswith(_IMAGES) and len(address) <= _LARGEST_IMAGE:
        return Picture(address)
    return Picture("", address[:200] if not address.startswith("data:") else "a large image")


def _decode(text: str) -> Any:
    """The JSON object or list in `text`, else the text."""
    if len(text) > MOST_CHARACTERS or not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
