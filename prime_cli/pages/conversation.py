"""The messages of a rollout as turns for a page: each tool call with its result beside it.

Who pushes a sample decides how much it has, so a page shows as many turns as it has room for, and
of a long text the beginning; links lead to the other turns and to all of a text.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from prime_cli.pages.json_diff import JsonDiff, diff_json
from prime_cli.pages.paging import FIRST, Cursor
from prime_cli.pages.texts import MOST_BYTES, Address, Text, decode_json, html_bytes, show
from prime_cli.pages.tokens import MOST, NO_TOKENS, TOKEN_BYTES, Tokens, tokens_of

ROOM = 80_000
"""Bytes of HTML for the turns of a page."""
_MOST_TURNS = 100
_MOST_PARTS = 200
"""Texts and pictures of a message, and its calls."""
_PART_BYTES = 300
"""Of the elements around a part."""
_PICTURE_BYTES = 3_000
"""What counts for a picture, which is no text: a page has about thirty."""
_SHORTEST = 400
_IMAGES = ("data:image/png;base64,", "data:image/jpeg;base64,", "data:image/webp;base64,")
_LARGEST_IMAGE = 2_000_000
_LONGEST_NAME = 200
_DIFF_BYTES = 4_000
_TOOL_BYTES = 6_000
"""Of the arguments of a call and of its result; what is said has more."""
_MOST_COMPARED = 20_000
"""Characters of an answer or a result that is compared with another."""
_FENCE = re.compile(r"^```(?:json)?[ \t]*\n(.*?)^```", re.MULTILINE | re.DOTALL | re.IGNORECASE)
"""A block of JSON in what a model says."""


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


class LeftOut(NamedTuple):
    """How many parts of a message a page has no room for, and the address of all."""

    parts: int
    path: str


class Turn(NamedTuple):
    """One message: what was thought, said and shown, and the tools that it called."""

    role: str
    reasoning: Text | None
    texts: Sequence[Text]
    pictures: Sequence[Picture] = ()
    calls: Sequence[ToolCall] = ()
    tokens: Tokens = NO_TOKENS
    left_out: Sequence[LeftOut] = ()


class Conversation(NamedTuple):
    """Some of `total` turns, the first of them after `start`; `path` is the rollout's address."""

    turns: Sequence[Turn] = ()
    start: int = 0
    total: int = 0
    path: str = ""

    @property
    def end(self) -> int:
        return self.start + len(self.turns)

    @property
    def earlier(self) -> str:
        """The address of the turns before these; empty for the first."""
        return f"{self.path}?before={self.start + 1}#turns" if self.start else ""

    @property
    def later(self) -> str:
        """The address of those after these; empty for the last."""
        return f"{self.path}?from={self.end + 1}#turns" if self.end < self.total else ""

    @property
    def last(self) -> str:
        """The address of the last of all."""
        return f"{self.path}?before={self.total + 1}#turns"


def lay_out(
    prompt: Any, completion: Any, path: str = "", cursor: Cursor = FIRST, room: int = ROOM
) -> Conversation:
    """The turns at `cursor` of a rollout whose page is at `path`: chat messages, or plain text."""
    parts = (("prompt", prompt), ("completion", completion))
    at = Address(path)
    layout = _Layout([each for name, part in parts for each in _messages(at / name, part)], room)
    heads = layout.heads
    start = min(cursor.number, len(heads) if cursor.is_end else max(len(heads) - 1, 0))
    ordered: Iterable[int] = reversed(heads[:start]) if cursor.is_end else heads[start:]
    turns: list[Turn] = []
    left = room
    for place in ordered:
        turn, used = layout.turn(place)
        if turns and (used > left or len(turns) == _MOST_TURNS):
            break
        turns.append(turn)
        left -= used
    if cursor.is_end:
        turns.reverse()
        start -= len(turns)
    return Conversation(turns, start, len(heads), path)


class _Message(NamedTuple):
    at: Address
    body: Mapping[str, Any]
    content: Address


class _Call(NamedTuple):
    """A tool call: the place of its result, and of the result of its tool before that."""

    at: Address
    name: str
    arguments: Any
    result: int | None
    before: int | None


class _Layout:
    """The messages of a rollout; `heads` are all but the results that stand beside their calls."""

    def __init__(self, messages: Sequence[_Message], room: int) -> None:
        self._messages = messages
        self._room = room
        self._calls: dict[int, list[_Call]] = {}
        beside = self._pair()
        self.heads = [place for place in range(len(messages)) if place not in beside]

    def _pair(self) -> set[int]:
        """Find the result of each call; each belongs to the first call that names it."""
        results: dict[str, int] = {}
        for place, (_, body, _) in enumerate(self._messages):
            if body.get("role") == "tool" and isinstance(body.get("tool_call_id"), str):
                results.setdefault(body["tool_call_id"], place)
        last: dict[str, int] = {}
        beside: set[int] = set()
        for place, (at, body, _) in enumerate(self._messages):
            calls = body.get("tool_calls")
            if not isinstance(calls, list):
                continue
            made = self._calls[place] = []
            for number, call in enumerate(calls[:_MOST_PARTS]):
                where, name, identity, arguments = _read_call(at / "tool_calls" / number, call)
                result = results.get(identity)
                if result is None or result in beside:
                    made.append(_Call(where, name, arguments, None, None))
                    continue
                beside.add(result)
                made.append(_Call(where, name, arguments, result, last.get(name)))
                last[name] = result
        return beside

    def turn(self, place: int) -> tuple[Turn, int]:
        """The message at `place`, in the room of a page, and how many bytes it takes."""
        at, body, said = self._messages[place]
        space = _Space(self._room)
        name = "reasoning_content" if body.get("reasoning_content") else "reasoning"
        thought = space.text(body[name], at / name) if body.get(name) else None
        left_out: list[LeftOut] = []
        texts, pictures = _content(body.get("content"), said, space, left_out)
        calls = []
        for call in self._calls.get(place, ()):
            if not space.has_room:
                break
            calls.append(self._call(call, space))
        asked = body.get("tool_calls")
        if isinstance(asked, list) and len(asked) > len(calls):
            path = (at / "tool_calls").link("text")
            left_out.append(LeftOut(len(asked) - len(calls), path))
        tokens = space.tokens(body.get("logprobs"), at / "logprobs")
        role = str(body.get("role", "message"))[:_LONGEST_NAME]
        turn = Turn(role, thought, texts, pictures, calls, tokens, left_out)
        return turn, self._room - space.left + _PART_BYTES

    def _call(self, call: _Call, space: "_Space") -> ToolCall:
        space.left -= html_bytes(call.name) * 2
        arguments = space.text(call.arguments, call.at, _TOOL_BYTES)
        if call.result is None:
            return ToolCall(call.name, arguments, None)
        answered = self._messages[call.result]
        value = _result_of(answered.body)
        result = space.text(value, answered.content, _TOOL_BYTES)
        changes = None
        if call.before is not None and result.is_json:
            before = _result_of(self._messages[call.before].body)
            changes = space.changes(before, value)
        return ToolCall(call.name, arguments, result, changes)


class _Space:
    """What is left of the room for a turn."""

    def __init__(self, left: int) -> None:
        self.left = left

    @property
    def has_room(self) -> bool:
        return self.left > _SHORTEST

    def text(
        self, value: Any, at: Address, most: int = MOST_BYTES, *, is_said: bool = False
    ) -> Text:
        found = show(value, at, min(most, max(self.left, _SHORTEST)), is_said=is_said)
        self.left -= html_bytes(found.text) + _PART_BYTES
        return found

    def picture(self, address: str) -> Picture:
        """Pages ask no other host: only an image inside the message is shown."""
        self.left -= _PICTURE_BYTES
        if address.startswith(_IMAGES) and len(address) <= _LARGEST_IMAGE:
            return Picture(address)
        return Picture("", address[:200] if not address.startswith("data:") else "a large image")

    def changes(self, before: Any, after: Any) -> JsonDiff | None:
        old, new = _json_in(before), _json_in(after)
        if old is None or type(old) is not type(new) or self.left < _DIFF_BYTES:
            return None
        found = diff_json(old, new, _DIFF_BYTES)
        self.left -= found.bytes if found is not None else 0
        return found

    def tokens(self, value: Any, at: Address) -> Tokens:
        if not value:
            return NO_TOKENS
        most = max(0, min(MOST, self.left // TOKEN_BYTES))
        found = tokens_of(value, most=most, at=at.link("tokens"))
        self.left -= TOKEN_BYTES * len(found.shown)
        return found


def _content(
    content: Any, at: Address, space: _Space, left_out: list[LeftOut]
) -> tuple[list[Text], list[Picture]]:
    if content in (None, "", []):
        return [], []
    if not isinstance(content, list):
        return [space.text(content, at, is_said=True)], []
    texts: list[Text] = []
    pictures: list[Picture] = []
    for number, part in enumerate(content):
        if not space.has_room or number == _MOST_PARTS:
            left_out.append(LeftOut(len(content) - number, at.link("text")))
            break
        address = _image_address(part)
        if address is not None:
            pictures.append(space.picture(address))
            continue
        said = part.get("text") if isinstance(part, dict) else None
        where, value = (at / number, part) if said is None else (at / number / "text", said)
        texts.append(space.text(value, where, is_said=True))
    return texts, pictures


def _read_call(at: Address, call: Any) -> tuple[Address, str, str, Any]:
    """Where a call's arguments are, its tool, its id (empty for none), and the arguments."""
    # verifiers keeps tool calls as objects, or (0.1.x files) as JSON in a string.
    found = decode_json(call)
    if not isinstance(found, dict):
        return at, "tool", "", call
    function = found.get("function")
    where = at / "function" if isinstance(function, dict) else at
    function = function if isinstance(function, dict) else found
    identity = found.get("id")
    name = str(function.get("name", "tool"))[:_LONGEST_NAME]
    where = where / "arguments" if isinstance(call, dict) and "arguments" in function else at
    return where, name, identity if isinstance(identity, str) else "", function.get("arguments", "")


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
    return diff_json(expected, said, _DIFF_BYTES)


def _said_last(completion: Any) -> Any:
    last = completion[-1] if isinstance(completion, list) and completion else completion
    return _result_of(last) if isinstance(last, dict) else last


def _json_in(value: Any) -> dict[str, Any] | list[Any] | None:
    """An object or a list, or the one in a text, alone or in the last of its fences."""
    if isinstance(value, str) and len(value) <= _MOST_COMPARED:
        fences = _FENCE.findall(value)
        value = decode_json(fences[-1] if fences else value)
    if not isinstance(value, dict | list):
        return None
    return None if show(value).length > _MOST_COMPARED else value


def _messages(at: Address, part: Any) -> Iterator[_Message]:
    if part in (None, "", []):
        return
    if not isinstance(part, list):
        yield _message(at, part)
        return
    for number, message in enumerate(part):
        yield _message(at / number, message)


def _message(at: Address, message: Any) -> _Message:
    if isinstance(message, dict):
        return _Message(at, message, at / "content")
    return _Message(at, {"role": "text", "content": message}, at)


def _image_address(part: Any) -> str | None:
    image = part.get("image_url") if isinstance(part, dict) else None
    address = image.get("url") if isinstance(image, dict) else image
    return address if isinstance(address, str) else None
