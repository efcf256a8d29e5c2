"""Rows in bundles: an index that a page reads at once, and transcripts that it unpacks later."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from prime_cli.evals.export.embedding import data_element, pack
from prime_cli.evals.export.texts import as_json
from prime_cli.runs.rows import Row, numeric

ROWS_IN_A_CHUNK = 64
BYTES_IN_A_CHUNK = 1 << 20
STAGES = ("boot", "setup", "agent", "finalize", "scoring")
"""What verifiers v1 times of a rollout, one after another."""

MOST_PACKED = 256 << 20
"""Bytes of packed transcripts in one page; browsers open no much larger one at ease."""


@dataclass
class Kept:
    """How many rollouts a page holds, and of how many of them the transcripts."""

    rollouts: int = 0
    transcripts: int = 0

    @property
    def left_out(self) -> int:
        return self.rollouts - self.transcripts


def data_elements(
    rows: Iterable[Row], metrics: Iterable[str], kept: Kept, *, most: int
) -> Iterator[bytes]:
    """The elements of a page that hold `rows`, of the first `most` with their transcripts.

    Also ends with transcripts when MOST_PACKED bytes are packed. Counts in `kept` as it goes.
    """
    names = list(metrics)
    packed = 0
    for bundle in _bundles(rows, most):
        yield data_element("index", as_json(index_of(bundle.rows, names)), many=True)
        content = b"null"
        if bundle.lines and packed < MOST_PACKED:
            content = pack(bundle.lines)
            packed += len(content)
            kept.transcripts += len(bundle.lines)
        kept.rollouts += len(bundle.rows)
        yield data_element("transcripts", content, many=True)


@dataclass
class _Bundle:
    """Rows, and their JSON where transcripts are kept: of all of them or of none."""

    rows: list[Row] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    size: int = 0

    def add(self, row: Row, *, whole: bool) -> None:
        self.rows.append(row)
        if whole:
            self.lines.append(as_json(row))
            self.size += len(self.lines[-1])

    @property
    def is_full(self) -> bool:
        return len(self.rows) >= ROWS_IN_A_CHUNK or self.size >= BYTES_IN_A_CHUNK


def _bundles(rows: Iterable[Row], most: int) -> Iterator[_Bundle]:
    bundle = _Bundle()
    for position, row in enumerate(rows, 1):
        bundle.add(row, whole=position <= most)
        if bundle.is_full or position == most:
            yield bundle
            bundle = _Bundle()
    if bundle.rows:
        yield bundle


def index_of(rows: list[Row], metrics: list[str]) -> dict[str, Any]:
    """Columns of what the page filters and draws by; `output` is tokens, `seconds` the total."""
    numbers = [numeric(row.metrics) for row in rows]
    return {
        "example": [row.example_id for row in rows],
        "rollout": [row.rollout for row in rows],
        "reward": [row.reward for row in rows],
        "kind": [row.error and row.error.kind for row in rows],
        "error": [row.error and row.error.type for row in rows],
        "truncated": [row.is_truncated for row in rows],
        "stop": [row.stop_condition for row in rows],
        "output": [_number((row.usage or {}).get("output")) for row in rows],
        "seconds": [seconds_of(row.timing) for row in rows],
        "metrics": {name: [of.get(name) for of in numbers] for name in metrics},
    }


def seconds_of(timing: dict[str, Any]) -> float | None:
    """How long a rollout took: its total (v0), else the sum of its stages (v1)."""
    if "total" in timing:
        return _number(timing["total"])
    stages = [timing[name] for name in STAGES if _number(timing.get(name)) is not None]
    return sum(stages) if stages else None


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) else None
