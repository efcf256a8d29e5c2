"""A folder for the Hugging Face Hub and `load_dataset`: data/*.parquet and a card."""

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prime_cli import __version__
from prime_cli.core.formatting import format_number, pluralize
from prime_cli.core.installation import require
from prime_cli.core.paths import storage_errors, write_atomically
from prime_cli.runs.export.records import DatasetColumns, flat_metrics, record_of, schema_of
from prime_cli.runs.export.text import ENDPOINT, as_json, spent_of, well_formed
from prime_cli.runs.rows import Row
from prime_cli.runs.summary import Summary

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_IN_A_GROUP = 1000
BYTES_IN_A_GROUP = 16 << 20
BYTES_IN_A_SHARD = 256 << 20
"""Arrow data per file, larger than the file; the Hugging Face Hub advises less than 500 MB."""


def write_shards(folder: Path, rows: Iterable[Row], columns: DatasetColumns) -> list[Path]:
    """Write `train-00000-of-0000N.parquet` into `folder`; at least one, also without rows.

    Returns the files in order. Raises StorageFailed.
    """
    import pyarrow.parquet as pq

    schema = schema_of(columns)
    unfinished: list[Path] = []
    writer: Any = None
    size = 0
    with storage_errors(folder):
        for group in _groups(rows, columns, schema):
            if writer is None:
                unfinished.append(folder / f"{len(unfinished)}.parquet")
                writer = pq.ParquetWriter(unfinished[-1], schema, compression="zstd")
            writer.write_batch(group)
            size += group.nbytes
            if size >= BYTES_IN_A_SHARD:
                writer.close()
                writer, size = None, 0
        if writer is not None:
            writer.close()
        return [_name(path, at, len(unfinished)) for at, path in enumerate(unfinished)]


def _name(path: Path, at: int, of: int) -> Path:
    return path.rename(path.with_name(f"train-{at:05}-of-{of:05}.parquet"))


def _groups(
    rows: Iterable[Row], columns: DatasetColumns, schema: "pa.Schema"
) -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa

    metrics = flat_metrics(columns)
    records: list[dict[str, Any]] = []
    size = 0
    written = False
    for row in rows:
        records.append(record_of(row, metrics))
        size += _weight(records[-1])
        if len(records) >= ROWS_IN_A_GROUP or size >= BYTES_IN_A_GROUP:
            yield pa.RecordBatch.from_pylist(records, schema=schema)
            records, size, written = [], 0, True
    if records or not written:
        yield pa.RecordBatch.from_pylist(records, schema=schema)


def _weight(record: dict[str, Any]) -> int:
    """Roughly the bytes of a record: those of its texts."""
    texts = [value for value in record.values() if isinstance(value, str)]
    for part in ("prompt", "completion"):
        for message in record[part] or ():
            texts.extend(value for value in message.values() if isinstance(value, str))
            texts.extend(message["tool_calls"] or ())
    return sum(map(len, texts))


CARD = "README.md"
DATA = "data"


def require_parquet() -> None:
    """Raise UsageError, with the install command, if Parquet cannot be written."""
    require("hf", "Writing Parquet", "pyarrow")


def write_dataset(
    folder: Path,
    summary: Summary,
    facts: Mapping[str, str],
    rows: Callable[[], Iterable[Row]],
    columns: DatasetColumns,
) -> int:
    """Write the dataset into `folder`, replacing an existing one; returns the bytes written.

    Other files in `folder` stay. Raises StorageFailed, and UsageError without pyarrow.
    """
    require_parquet()
    data = folder / DATA
    with storage_errors(folder):
        data.mkdir(parents=True, exist_ok=True)
    with storage_errors(data), tempfile.TemporaryDirectory(prefix=".new-", dir=data) as new:
        written = write_shards(Path(new), rows(), columns)
        size = sum(path.stat().st_size for path in written)
        for old in data.glob("train-*-of-*.parquet"):
            old.unlink()
        for path in written:
            path.rename(data / path.name)
    told = {label: text for label, text in facts.items() if label != ENDPOINT}
    card = make_card(summary, told, columns.rows).encode()
    write_atomically(folder / CARD, card, mode=0o644)
    return size + len(card)


# --- The card ---

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>()#+!|~$&-])")


def make_card(summary: Summary, facts: Mapping[str, str], rollouts: int) -> str:
    """The card of a dataset with `rollouts` rows; texts written by others are escaped."""
    title = f"{summary.environment.ref} with {summary.model}"
    lines = [
        "---",
        f"pretty_name: {_quoted(title)}",
        "tags:",
        "- verifiers",
        "- evaluation",
        "- reinforcement-learning",
        "size_categories:",
        f"- {_size(rollouts)}",
        "configs:",
        "- config_name: default",
        "  data_files:",
        "  - split: train",
        "    path: data/train-*",
        "---",
        "",
        f"# {escaped(title)}",
        "",
        f"{pluralize(rollouts, 'rollout')} of an evaluation, one a row.",
        "",
        *_table(("", ""), _figures(summary)),
        *_rows(_metrics(summary)),
        "",
        "## How it was made",
        "",
        *_table(("", ""), {"Run": summary.run_id, "Date": summary.date or "", **facts}),
        "",
        f"Written by `prime eval export` of prime {__version__}.",
        "An error is no score: `reward` is null exactly where `error` is not.",
        "`info`, `task`, `usage`, `timing`, `metrics` and `state` are JSON in strings where they",
        "are no text, as are `tool_calls` and `extra` in a message of `prompt` and `completion`.",
        "",
    ]
    return "\n".join(lines)


def _figures(summary: Summary) -> dict[str, str]:
    counts, reward = summary.counts, summary.reward
    shown = {
        "Status": summary.status,
        "Mean reward": _number(reward.mean),
        "Standard deviation": _number(reward.std),
        "With errors as 0 or left out": f"{_number(reward.low)} to {_number(reward.high)}",
        "Planned": f"{counts.planned:,}",
        "Scored": f"{counts.scored:,}",
        "Errored": f"{counts.errored:,}",
        "Truncated": f"{counts.truncated:,}",
    }
    if summary.asked_again_words:
        shown["Asked again"] = summary.asked_again_words
    return shown | spent_of(summary.usage)


def _metrics(summary: Summary) -> dict[str, str]:
    """Apart from the figures, since a metric may have the name of one."""
    return {name: _number(metric.mean) for name, metric in summary.metrics.items()}


def _table(head: tuple[str, str], rows: Mapping[str, str]) -> list[str]:
    lines = [f"| {head[0]} | {head[1]} |", "|---|---|"]
    return [*lines, *_rows(rows)]


def _rows(rows: Mapping[str, str]) -> Iterator[str]:
    return (f"| {escaped(name)} | {escaped(text)} |" for name, text in rows.items())


def escaped(text: str) -> str:
    """`text` on one line, escaped for Markdown and HTML."""
    return _MARKDOWN.sub(r"\\\1", " ".join(well_formed(text).split())).replace("\\<", "&lt;")


def _quoted(text: str) -> str:
    """A string of YAML 1.1, which allows only printable characters and escapes like JSON."""
    shown = "".join(letter if letter.isprintable() else " " for letter in text)
    return as_json(shown).decode()


def _size(rollouts: int) -> str:
    return next((name for limit, name in _SIZES if rollouts < limit), "n>1M")


def _number(value: float | None) -> str:
    return format_number(value, "none")
