"""CSV (RFC 4180) with one row per rollout, safe to open in a spreadsheet."""

import csv
import io
import re
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from prime_cli.runs.export.records import PARTS, DatasetColumns
from prime_cli.runs.export.text import as_text, well_formed
from prime_cli.runs.rows import Row

FIXED = (
    "example_id rollout attempt reward error_class error_type error_message is_truncated "
    "stop_condition cost"
).split()
CONTENTS = "task answer prompt completion info".split()

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
    return [*FIXED, *varying, *CONTENTS, "judges"]


def record(row: Row, columns: DatasetColumns) -> Iterator[Any]:
    """The values of `row` in the order of `header`."""
    failure = row.error
    yield from (row.example_id, row.rollout, row.attempt, row.reward)
    yield from (failure.kind, failure.type, failure.message) if failure else (None, None, None)
    yield from (row.is_truncated, row.stop_condition, row.cost)
    for part in PARTS:
        found = getattr(row, part) or {}
        yield from (found.get(name) for name in columns.keys[part])
    yield from (getattr(row, name) for name in CONTENTS)
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
