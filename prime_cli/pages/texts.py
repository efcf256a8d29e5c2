"""Texts as a page has room for them: the beginning, with a link to the whole."""

import json
from bisect import bisect_right
from html import escape
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from prime_cli.pages.links import whole_number
from prime_cli.runs.transcript import TOO_DEEP, as_text, is_too_deep

MOST_BYTES = 16_000
"""Of the HTML of one text."""
_MOST_JSON = 200_000
"""Characters of a text that is taken for JSON, and indented."""


class Text(NamedTuple):
    """The beginning of a text; `length` is that of all of it, which is at the address `whole`."""

    text: str
    length: int
    whole: str = ""
    is_json: bool = False

    @property
    def is_cut(self) -> bool:
        return len(self.text) < self.length


class Address(NamedTuple):
    """A place in a rollout: the address of its page, and a JSON pointer (RFC 6901)."""

    page: str
    pointer: str = ""

    def __truediv__(self, key: str | int) -> "Address":
        step = str(key).replace("~", "~0").replace("/", "~1")
        return Address(self.page, f"{self.pointer}/{step}")

    def link(self, name: str, *, indented: bool = False) -> str:
        """The address of the page `name` below the rollout's, about this place."""
        query = f"at={quote(self.pointer, safe='/')}{'&indented=1' if indented else ''}"
        return f"{self.page}/{name}?{query}"


def resolve(value: Any, pointer: str) -> Any:
    """What a JSON pointer leads to in `value`, also within JSON in a text; raises LookupError."""
    if pointer and not pointer.startswith("/"):
        raise LookupError(pointer)
    for step in pointer.split("/")[1:]:
        value = decode_json(value)
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list):
            if (number := whole_number(key)) is None:
                raise LookupError(pointer)
            value = value[number]
        elif isinstance(value, dict):
            value = value[key]
        else:
            break
    else:
        return value
    raise LookupError(pointer)


def show(
    value: Any, at: Address | None = None, most: int = MOST_BYTES, *, is_said: bool = False
) -> Text:
    """The beginning of `value` in at most `most` bytes of HTML, of which all is shown `at`.

    JSON in a text is indented unless somebody said it.
    """
    decoded = value if is_said else decode_json(value)
    text = whole_text(decoded)
    begin = cut(text, most)
    is_indented = decoded is not value
    whole = at.link("text", indented=is_indented) if at and len(begin) < len(text) else ""
    return Text(begin, len(text), whole, isinstance(decoded, dict | list))


def whole_text(value: Any) -> str:
    """A text as it is, or another value as indented JSON."""
    if not isinstance(value, dict | list):
        return as_text(value)
    if is_too_deep(value):
        return TOO_DEEP
    try:
        return msgspec.json.format(msgspec.json.encode(value, enc_hook=str), indent=2).decode()
    except UnicodeEncodeError:  # half a surrogate pair, which the standard library writes
        return json.dumps(value, ensure_ascii=False, indent=2, default=str)


def decode_json(value: Any) -> Any:
    """The JSON object or list in a text that is not too long; else `value`."""
    if not isinstance(value, str) or len(value) > _MOST_JSON:
        return value
    if not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def cut(text: str, most: int) -> str:
    """The longest beginning of `text` whose HTML has at most `most` bytes."""
    begin = text[: max(most, 0)]
    if html_bytes(begin) <= most:
        return begin
    lengths = range(len(begin) + 1)
    return begin[: bisect_right(lengths, most, key=lambda length: html_bytes(begin[:length])) - 1]


def html_bytes(text: str) -> int:
    """The bytes of `text` in an element of a page."""
    return len(escape(text, quote=False).encode(errors="replace"))


def shorten(text: str, most: int) -> str:
    """`text` in one line of a page, with its length if it is longer than `most` characters."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text):,} characters)"
