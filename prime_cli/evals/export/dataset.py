"""A folder that the Hugging Face Hub and its `load_dataset` take: data/*.parquet and a card."""

import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from prime_cli.core.extras import require
from prime_cli.core.paths import storage_errors, write_atomically
from prime_cli.evals.export.card import make_card
from prime_cli.evals.export.columns import Columns
from prime_cli.evals.export.facts import ENDPOINT
from prime_cli.evals.export.shards import write_shards
from prime_cli.runs.rows import Row
from prime_cli.runs.summary import Summary

CARD = "README.md"
DATA = "data"


def require_parquet() -> None:
    """Raise UsageError, with the install command, where Parquet cannot be written."""
    require("hf", "Writing Parquet", "pyarrow")


def write_dataset(
    folder: Path,
    summary: Summary,
    facts: Mapping[str, str],
    rows: Callable[[], Iterable[Row]],
    columns: Columns,
) -> int:
    """Write the data set into `folder`, in place of one that is there; returns bytes written.

    Files of others in `folder` stay. Raises StorageFailed, and UsageError without pyarrow.
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
