"""Text for a terminal: safe, encodable, wrapped and aligned; values as JSON."""

import json
import math
import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import PurePath
from typing import Any, TextIO
from unicodedata import east_asian_width

import msgspec

_PLAIN_MARKS = str.maketrans(
    {"…": "...", "\u2013": "-", "—": "-", "±": "+/-", "→": "->", "·": "-", "✓": "ok", "\u00d7": "x"}
)
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:")
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_AGES = (
    (_MINUTE, 1, "s"),
    (_HOUR, _MINUTE, "min"),
    (_DAY, _HOUR, "h"),
    (30 * _DAY, _DAY, "day"),
)
_REORDERING = {code: f"\\u{code:04x}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
"""Code can look like other code by these (CVE-2021-42574), so they are shown by their numbers."""
_CONTROLS = {
    **dict.fromkeys((*range(9), *range(11, 32), 127, *range(128, 160))),
    **_REORDERING,
}

_CONTROLS_IN_JSON = {code: f"\\u{code:04x}" for code in range(127, 160)}
"""Those that JSON leaves as they are; terminals take some of them for ESC [."""


def clean(text: str) -> str:
    """`text` without control characters, which could move the cursor or rewrite the screen.

    What would have a line read in another order is shown as `\\u202e` and the like.
    """
    return text.translate(_CONTROLS)


def encodable(text: str, stream: TextIO) -> str:
    """`text` in characters that `stream` can write; others become plain marks, or `?`."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_PLAIN_MARKS).encode(encoding, "replace").decode(encoding)
    return text


def width(text: str) -> int:
    """Terminal cells that `text` fills: wide East Asian characters take two."""
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)


def aligned(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A header and rows as lines, columns two spaces apart, every value whole."""
    table = [list(columns), *(list(row) for row in rows)]
    widths = [max(width(row[index]) for row in table) for index in range(len(columns))]
    return [
        "  ".join(
            cell + " " * (size - width(cell)) for cell, size in zip(row, widths, strict=True)
        ).rstrip()
        for row in table
    ]


def age(text: str, now: datetime) -> str:
    """An ISO timestamp as `5 min ago`, `3 days ago` or its date; any other text as it is."""
    try:
        when = datetime.fromisoformat(text) if _TIMESTAMP.match(text) else None
    except ValueError:
        when = None
    if when is None or when.tzinfo is None:
        return text
    seconds = (now - when).total_seconds()
    for limit, size, unit in _AGES:
        if 0 <= seconds < limit:
            count = int(seconds // size)
            return f"{count} {unit}{'s' if unit == 'day' and count != 1 else ''} ago"
    return f"{when:%Y-%m-%d}"


def as_json(value: Any, *, indent: int | None = None, ascii_only: bool = False) -> str:
    """JSON of wire structs, dataclasses and plain values; NaN and infinities become null."""
    text = json.dumps(_finite(builtins_of(value)), indent=indent, ensure_ascii=ascii_only)
    return text.translate(_CONTROLS_IN_JSON)


def builtins_of(value: Any) -> Any:
    """Dicts, lists and scalars of a record; paths become text."""
    return msgspec.to_builtins(value, enc_hook=_path_text)


def _path_text(value: Any) -> str:
    if isinstance(value, PurePath):
        return str(value)
    raise NotImplementedError(f"no JSON form for {type(value).__name__}")


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return value


# --- Wrapping ---

_WORD = re.compile(r"(?:`[^`]*`|\S)+")
"""A command in backticks is one word, so that it can be copied."""
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
_INDENT = "  "


def wrapped(text: str, columns: int) -> str:
    """`text` in lines of at most `columns` cells, those that continue another one indented.

    A word that is longer than a line is left to the terminal, and so is a line that begins with
    blanks, which is there to be copied. Colours take no room.
    """
    return "\n".join(_broken(line, columns) for line in text.split("\n"))


def _broken(line: str, columns: int) -> str:
    if _cells(line) <= columns or line.startswith(" "):
        return line
    lines: list[str] = []
    for word in _WORD.findall(line):
        if lines and _cells(lines[-1]) + 1 + _cells(word) <= columns:
            lines[-1] += f" {word}"
        else:
            lines.append(f"{_INDENT}{word}" if lines else word)
    return "\n".join(lines)


def in_room(text: str, room: int) -> list[str]:
    """`text` in lines of at most `room` cells, broken at words; a longer word is left whole."""
    lines: list[str] = []
    for word in _WORD.findall(text) if width(text) > room else [text]:
        if lines and width(lines[-1]) + 1 + width(word) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


# A name is broken after its marks: between digits they are part of a number.
_PIECE = re.compile(r".+?(?:[/@]|(?<=[^\W\d])[-_](?=\w)|[-_](?=[^\W\d])|$)")


def pieces(word: str) -> list[str]:
    """The parts of a long name where it may be broken: `alphabet-`, `sort@`, `0.1.0`."""
    return _PIECE.findall(word)


def folded(text: str, room: int) -> str:
    """`text` in lines of at most `room` cells, broken at words, else within names."""
    lines: list[str] = []
    for word in text.split():
        parts = [word] if width(word) <= room else pieces(word)
        for index, part in enumerate(parts):
            space = "" if index or not lines else " "
            if lines and width(lines[-1]) + len(space) + width(part) <= room:
                lines[-1] += space + part
            else:
                lines.append(part)
    return "\n".join(lines)


def _cells(text: str) -> int:
    return width(_ESCAPES.sub("", text))
