"""A rollout for reading: labelled blocks of text."""

import json
import re
from collections.abc import Iterator
from typing import Any

from prime_cli.core.errors import UsageError
from prime_cli.core.formatting import format_number
from prime_cli.runs.rows import Row

Block = tuple[str, str]
"""A label (a role, or the name of a part) and its text, which may have many lines."""


def transcript(row: Row) -> list[Block]:
    """Prompt, completion and result of `row` as blocks, in chronological order."""
    blocks: list[Block] = [("rollout", f"{row.example_id}.{row.rollout}")]
    for part in (row.prompt, row.completion):
        blocks.extend(message_blocks(part))
    if row.answer not in (None, ""):
        blocks.append(("answer", as_text(row.answer)))
    if row.error is not None:
        blocks.append(("error", f"{row.error.kind}: {row.error.type}: {row.error.message}"))
        if row.error.traceback:
            blocks.append(("traceback", row.error.traceback.rstrip()))
    blocks.append(("reward", format_number(row.reward, "none")))
    blocks.extend((name, metric_text(value)) for name, value in row.metrics.items())
    if row.stop_condition:
        blocks.append(("stopped by", row.stop_condition))
    return blocks


def metric_text(value: Any) -> str:
    """A metric or a part of a timing, which may be anything, as text."""
    return format_number(value) if isinstance(value, float) else as_text(value)


def message_blocks(part: Any) -> Iterator[Block]:
    """The messages of a prompt or a completion: what was said, and each tool call."""
    if part is None:
        return
    if not isinstance(part, list):
        yield ("text", as_text(part))
        return
    for message in part:
        if not isinstance(message, dict):
            yield ("text", as_text(message))
            continue
        role = str(message.get("role", "message"))
        if message.get("reasoning_content"):
            yield (f"{role} thinks", as_text(message["reasoning_content"]))
        if message.get("content"):
            yield (role, _content(message["content"]))
        for call in message.get("tool_calls") or []:
            yield (f"{role} calls", _call(call))


def _content(content: Any) -> str:
    if not isinstance(content, list):
        return as_text(content)
    texts = (part.get("text") if isinstance(part, dict) else str(part) for part in content)
    return "\n".join(str(text) if text else "[not text]" for text in texts)


def _call(call: Any) -> str:
    # verifiers keeps tool calls as objects, or (0.1.x files) as JSON in a string.
    if isinstance(call, str):
        try:
            call = json.loads(call)
        except ValueError:
            return str(call)
    function = call.get("function", call) if isinstance(call, dict) else {}
    return f"{function.get('name')}({as_text(function.get('arguments', ''))})"


def as_text(value: Any) -> str:
    """A JSON value for reading: text unquoted, the rest as JSON."""
    if isinstance(value, str):
        return value
    if is_too_deep(value):
        return TOO_DEEP
    return json.dumps(value, ensure_ascii=False, default=str)


TOO_DEEP = "This is nested too deeply to be shown."

_DEEPEST = 200
"""Levels of a value that are shown. Indented text grows with their square, and the depth at which
an encoder gives up differs between releases of Python."""


def is_too_deep(value: Any) -> bool:
    """Whether a JSON value has more than `_DEEPEST` levels of objects and lists."""
    level = [value]
    for _ in range(_DEEPEST):
        children = (
            each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
            for each in level
        )
        level = [child for each in children for child in each if isinstance(child, dict | list)]
        if not level:
            return False
    return True


_LONGEST_POSITION = 40
_POSITION = re.compile(r"(-?[0-9]{1,19})\.(-?[0-9]{1,19})")
"""Who wrote the run chose the numbers, which may be below 0."""


def parse_position(text: str) -> tuple[int, int]:
    """`I.J` (example.rollout, which prime counts from 0); raises UsageError."""
    found = _POSITION.fullmatch(text)
    if found is None:
        raise UsageError(
            f"`{text[:_LONGEST_POSITION]}` is not a rollout",
            hint="write example.rollout, as in `--rollout 0.2`",
        )
    return int(found[1]), int(found[2])
