"""A rollout as a record of a dataset, one schema for all environments and versions; and as CSV.

A CSV (RFC 4180) has one line per rollout, and is safe to open in a spreadsheet.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

from prime_cli.runs.export.text import as_text, well_formed
from prime_cli.runs.rows import Row, numeric

if TYPE_CHECKING:
    import pyarrow as pa

PARTS = ("metrics", "usage", "timing", "state")
"""Parts of a row with the environment's keys; a CSV has a column for each key."""


@dataclass(frozen=True)
class DatasetColumns:
    """The sorted keys of each part, the metrics that are numbers in some row, and the number of
    rows.
    """

    keys: dict[str, list[str]] = field(default_factory=dict)
    numbers: frozenset[str] = frozenset()
    rows: int = 0


def find_columns(rows: Iterable[Row]) -> DatasetColumns:
    """Find them in one pass over `rows`; keeps only names in memory."""
    keys: dict[str, set[str]] = {part: set() for part in PARTS}
    numbers: set[str] = set()
    count = 0
    for row in rows:
        count += 1
        for part in PARTS:
            keys[part].update(getattr(row, part) or ())
        numbers.update(numeric(row.metrics))
    ordered = {part: sorted(names, key=well_formed) for part, names in keys.items()}
    return DatasetColumns(ordered, frozenset(numbers), count)


_FIXED = frozenset(
    (
        "example_id rollout attempt prompt completion answer info task reward error metrics timing "
        "token_usage usage judges cost is_completed is_truncated stop_condition state"
    ).split()
)
_SAID = frozenset(("role", "content", "tool_calls", "tool_call_id", "name"))


def flat_metrics(columns: DatasetColumns) -> list[str]:
    """Metrics with their own column, as in vf-eval's pushes: numbers whose name is unused."""
    return [
        name
        for name in columns.keys["metrics"]
        if name in columns.numbers and name not in _FIXED and well_formed(name) == name
    ]


def schema_of(columns: DatasetColumns) -> "pa.Schema":
    """The Arrow schema. Fields without a fixed shape (info, usage, state …) are JSON strings."""
    import pyarrow as pa

    text, whole = pa.string(), pa.int64()
    message = pa.struct(
        {
            "role": text,
            "content": text,
            "tool_calls": pa.list_(text),
            "tool_call_id": text,
            "name": text,
            "extra": text,
        }
    )
    failure = {"class": text, "type": text, "message": text, "retryable": pa.bool_()}
    fields = {
        "example_id": whole,
        "rollout": whole,
        "attempt": whole,
        "prompt": pa.list_(message),
        "completion": pa.list_(message),
        "answer": text,
        "info": text,
        "task": text,
        "reward": pa.float64(),
        "error": pa.struct(failure),
        "is_completed": pa.bool_(),
        "is_truncated": pa.bool_(),
        "stop_condition": text,
        "token_usage": pa.struct({"input_tokens": whole, "output_tokens": whole}),
        "usage": text,
        "judges": text,
        "cost": pa.float64(),
        "timing": text,
        "metrics": text,
        "state": text,
    }
    return pa.schema(fields | dict.fromkeys(flat_metrics(columns), pa.float64()))


def record_of(row: Row, metrics: list[str]) -> dict[str, Any]:
    """The values of `row` by column; `metrics` are those of `flat_metrics`."""
    numbers = numeric(row.metrics)
    return {
        "example_id": row.example_id,
        "rollout": row.rollout,
        "attempt": row.attempt,
        "prompt": messages_of(row.prompt),
        "completion": messages_of(row.completion),
        "answer": _text(row.answer),
        "info": _text(row.info),
        "task": _text(row.task),
        "reward": row.reward,
        "error": _failure(row),
        "is_completed": row.error is None,
        "is_truncated": row.is_truncated,
        "stop_condition": _text(row.stop_condition),
        "token_usage": _tokens(row.usage),
        "usage": _text(row.usage),
        "judges": _text(row.judges or None),
        "cost": row.cost,
        "timing": _text(row.timing or None),
        "metrics": _text(row.metrics or None),
        "state": _text(row.state or None),
    } | {name: numbers.get(name) for name in metrics}


def messages_of(part: Any) -> list[dict[str, Any]] | None:
    """A prompt or a completion as messages; a plain text is one message with role `text`."""
    if part is None:
        return None
    return [_message(each) for each in (part if isinstance(part, list) else [part])]


def _message(each: Any) -> dict[str, Any]:
    """`extra` is JSON of what the other fields do not hold, such as content other than text."""
    if not isinstance(each, dict):
        each = {"role": "text", "content": each}
    content, calls = each.get("content"), each.get("tool_calls")
    extra = {name: value for name, value in each.items() if name not in _SAID}
    if not isinstance(content, str | None):
        extra["content"] = content
    return {
        "role": _text(each.get("role")),
        "content": _spoken(content),
        "tool_calls": [as_text(call) for call in calls] if isinstance(calls, list) else None,
        "tool_call_id": _text(each.get("tool_call_id")),
        "name": _text(each.get("name")),
        "extra": _text(extra or None),
    }


def _spoken(content: Any) -> str | None:
    if not isinstance(content, list):
        return _text(content)
    parts = (part.get("text") if isinstance(part, dict) else part for part in content)
    return "\n".join(well_formed(text) for text in parts if isinstance(text, str))


def _text(value: Any) -> str | None:
    return None if value is None else as_text(value)


def _failure(row: Row) -> dict[str, Any] | None:
    if row.error is None:
        return None
    return {
        "class": well_formed(row.error.kind),
        "type": well_formed(row.error.type),
        "message": well_formed(row.error.message),
        "retryable": row.error.retryable,
    }


def _tokens(usage: dict[str, Any] | None) -> dict[str, int | None] | None:
    if usage is None:
        return None
    return {
        f"{side}_tokens": int(count) if isinstance(count, int | float) else None
        for side, count in ((side, usage.get(side)) for side in ("input", "output"))
    }


# --- CSV ---

_LEADING = (
    "example_id rollout attempt reward error_class error_type error_message is_truncated "
    "stop_condition cost"
).split()
_CONTENTS = "task answer prompt completion info".split()

_FORMULA = re.compile(r"[\s']*[=+\-@\uff1d\uff0b\uff0d\uff20]")
"""What a spreadsheet may run: the signs of formulas, also full-width, after blanks and quotes."""


def write_spreadsheet(file: BinaryIO, rows: Iterable[Row], columns: DatasetColumns) -> None:
    """Write a header and one record a row, as UTF-8 with CRLF.

    Numbers are written as numbers, truth values as `true` and `false`, missing values as nothing,
    lists and objects as JSON. A text that could be a formula gets a leading `'` (see `disarm`).
    """
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow([disarm(name) for name in header(columns)])
    for row in rows:
        writer.writerow([cell(value) for value in record(row, columns)])
    text.detach()


def header(columns: DatasetColumns) -> list[str]:
    """The column names, with `metrics.NAME`, `usage.NAME`, `timing.NAME`, `state.NAME`."""
    varying = (f"{part}.{well_formed(name)}" for part in PARTS for name in columns.keys[part])
    return [*_LEADING, *varying, *_CONTENTS, "judges"]


def record(row: Row, columns: DatasetColumns) -> Iterator[Any]:
    """The values of `row` in the order of `header`."""
    failure = row.error
    yield from (row.example_id, row.rollout, row.attempt, row.reward)
    yield from (failure.kind, failure.type, failure.message) if failure else (None, None, None)
    yield from (row.is_truncated, row.stop_condition, row.cost)
    for part in PARTS:
        found = getattr(row, part) or {}
        yield from (found.get(name) for name in columns.keys[part])
    yield from (getattr(row, name) for name in _CONTENTS)
    yield row.judges or None


def cell(value: Any) -> str:
    """One value as a cell's text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    return disarm(as_text(value))


def disarm(text: str) -> str:
    """`text` with a leading `'` if it begins like a formula, ignoring blanks and `'`.

    Programs can undo this by removing a `'` before such a beginning.
    """
    return f"'{text}" if _FORMULA.match(text) else text
