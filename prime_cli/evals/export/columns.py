"""Names that differ from run to run: metrics, usage, timing and state of all rows."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from prime_cli.evals.export.texts import well_formed
from prime_cli.runs.rows import Row, numeric

PARTS = ("metrics", "usage", "timing", "state")
"""Parts of a row whose keys an environment chooses; a CSV has a column for each key."""


@dataclass(frozen=True)
class Columns:
    """The keys of each part, sorted, the metrics that are numbers in some row, and the rows."""

    keys: dict[str, list[str]] = field(default_factory=dict)
    numbers: frozenset[str] = frozenset()
    rows: int = 0


def find_columns(rows: Iterable[Row]) -> Columns:
    """One pass over `rows`; holds names alone."""
    keys: dict[str, set[str]] = {part: set() for part in PARTS}
    numbers: set[str] = set()
    count = 0
    for row in rows:
        count += 1
        for part in PARTS:
            keys[part].update(getattr(row, part) or ())
        numbers.update(numeric(row.metrics))
    ordered = {part: sorted(names, key=well_formed) for part, names in keys.items()}
    return Columns(ordered, frozenset(numbers), count)
