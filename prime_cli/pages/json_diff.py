"""What differs between two JSON values, or two texts that hold JSON, by the path of each part.

Paths are written as by `jq`.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from prime_cli.pages.messages import said_in
from prime_cli.pages.texts import decode_json, html_bytes, shorten, show

_MOST_CHANGES = 100
_LONGEST_VALUE = 300
_LONGEST_PATH = 200
_ROW_BYTES = 90
_PLAIN_KEY = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_ABSENT: Any = object()


class Change(NamedTuple):
    """A part that differs: its JSON in each value, empty in the one that has no such part."""

    path: str
    before: str
    after: str


class JsonDiff(NamedTuple):
    """The first changes from one value to another, how many more there are, and their size."""

    changes: tuple[Change, ...]
    left_out: int = 0
    bytes: int = 0


def diff_json(before: Any, after: Any, room: int = 32_000) -> JsonDiff | None:
    """How `after` differs from `before`; None for values nested too deeply to be compared.

    Objects are compared by key, and lists by position between what they begin and end with alike.
    The first changes are shown, as far as they take at most `room` bytes of HTML.
    """
    shown: list[Change] = []
    used = left_out = 0
    try:
        for path, old, new in _differences("", before, after):
            if left_out or len(shown) == _MOST_CHANGES:
                left_out += 1
                continue
            change = Change(shorten(path or ".", _LONGEST_PATH), _shown(old), _shown(new))
            size = _ROW_BYTES + sum(map(html_bytes, change))
            if used + size > room:
                left_out = 1
                continue
            shown.append(change)
            used += size
    except RecursionError:
        return None
    return JsonDiff(tuple(shown), left_out, used)


def _differences(path: str, before: Any, after: Any) -> Iterator[tuple[str, Any, Any]]:
    """The parts that differ, each with its path and both values."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in (*before, *(key for key in after if key not in before)):
            old, new = before.get(key, _ABSENT), after.get(key, _ABSENT)
            if not _is_same_leaf(old, new):
                yield from _differences(f"{path}{_step(key)}", old, new)
    elif isinstance(before, list) and isinstance(after, list):
        for place, (old, new) in enumerate(_pairs(before, after)):
            if not _is_same_leaf(old, new):
                yield from _differences(f"{path}[{place}]", old, new)
    elif not _is_same(before, after):
        yield path, before, after


def _pairs(before: list[Any], after: list[Any]) -> Iterator[tuple[Any, Any]]:
    """The items of both, by position from either end; what only one has is paired with nothing."""
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    longer = max(len(before), len(after))
    old, new = (
        [*each[: len(each) - end], *[_ABSENT] * (longer - len(each)), *each[len(each) - end :]]
        for each in (before, after)
    )
    return zip(old, new, strict=True)


def _common(one: list[Any], other: list[Any]) -> int:
    """With how many equal items both begin."""
    pairs = zip(one, other, strict=False)
    shorter = min(len(one), len(other))
    return next((at for at, pair in enumerate(pairs) if not _is_same(*pair)), shorter)


def _is_same(one: Any, other: Any) -> bool:
    """As JSON has it: 1 and 1.0 are the same number, true is none, and NaN is itself."""
    if isinstance(one, bool) is not isinstance(other, bool):
        return False
    return bool(one == other or (one != one and other != other))  # noqa: PLR0124 - for NaN


def _is_same_leaf(one: Any, other: Any) -> bool:
    # In a list or an object that is equal, true may still be where 1 was.
    return not isinstance(one, dict | list) and _is_same(one, other)


def _step(key: str) -> str:
    return f".{key}" if _PLAIN_KEY.fullmatch(key) else f"[{json.dumps(key, ensure_ascii=False)}]"


def _shown(value: Any) -> str:
    if value is _ABSENT:
        return ""
    return shorten(json.dumps(value, ensure_ascii=False, default=str), _LONGEST_VALUE)


DIFF_BYTES = 4_000
_MOST_COMPARED = 20_000
"""Characters of an answer or a result that is compared with another."""
_FENCE = re.compile(r"^```(?:json)?[ \t]*\n(.*?)^```", re.MULTILINE | re.DOTALL | re.IGNORECASE)
"""A block of JSON in what a model says."""


def diff_answer(answer: Any, completion: Any) -> JsonDiff | None:
    """How what was said last differs from the expected answer, where both are JSON."""
    last = completion[-1] if isinstance(completion, list) and completion else completion
    return diff_texts(answer, said_in(last))


def diff_texts(before: Any, after: Any) -> JsonDiff | None:
    """How one differs from the other, where both are objects or both are lists."""
    old = _json_in(before)
    new = None if old is None else _json_in(after)
    return diff_json(old, new, DIFF_BYTES) if new is not None and type(old) is type(new) else None


def _json_in(value: Any) -> dict[str, Any] | list[Any] | None:
    """An object or a list, or the one in a text, alone or in the last of its fences."""
    if isinstance(value, str) and len(value) <= _MOST_COMPARED:
        fences = _FENCE.findall(value)
        value = decode_json(fences[-1] if fences else value)
    if not isinstance(value, dict | list):
        return None
    return None if show(value).length > _MOST_COMPARED else value
