"""Answers and results of tools compared with others, where both are JSON."""

import re
from typing import Any

from prime_cli.pages.json_diff import JsonDiff, diff_json
from prime_cli.pages.messages import said_in
from prime_cli.pages.texts import decode_json, show

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
