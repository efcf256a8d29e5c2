"""results.jsonl: what the official `eval push` and `vf-tui` read, made from the journal."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from prime_cli.core.paths import replacing
from prime_cli.evals.index.run_index import index_journal
from prime_cli.evals.rows import Row

_ENCODER = msgspec.json.Encoder()


def write_results(journal: Path, results: Path) -> None:
    """Write one line per (example_id, rollout), its last attempt, in that order; atomically.

    Rows are copied one by one: the memory needed does not grow with the transcripts. Raises
    StorageFailed.
    """
    with replacing(results, mode=0o644) as file:
        for row in ordered_rows(journal):
            file.write(_ENCODER.encode(official_row(row)) + b"\n")


def ordered_rows(journal: Path) -> Iterator[Row]:
    """The last attempt of every rollout, sorted by example and rollout."""
    return index_journal(journal).rows()


def official_row(row: Row) -> dict[str, Any]:
    """A row with the keys of verifiers 0.1.14, metrics also flat; `prime` is ours.

    A metric named like a key of the row stays in `metrics` alone.
    """
    known: dict[str, Any] = {
        "example_id": row.example_id,
        "prompt": row.prompt,
        "completion": row.completion,
        "answer": row.answer,
        "info": row.info,
        "task": row.task,
        "reward": row.reward,
        "error": _official_error(row),
        "timing": row.timing,
        "is_completed": row.error is None,
        "is_truncated": row.is_truncated,
        "stop_condition": row.stop_condition,
        "metrics": row.metrics,
        "token_usage": _official_usage(row),
        # Not as numbers of the row itself: vf-tui takes those for metrics.
        "prime": {"rollout": row.rollout, "attempt": row.attempt} | _spent(row),
    }
    kept = {name: value for name, value in known.items() if value is not None or name in _ALWAYS}
    return row.metrics | row.state | kept


_ALWAYS = ("prompt", "completion", "reward", "error", "stop_condition")


def _official_error(row: Row) -> dict[str, Any] | None:
    if row.error is None:
        return None
    chain = f"{row.error.type}({row.error.message})"
    return {
        "error": row.error.type,
        "error_chain_repr": chain,
        "error_chain_str": f"{row.error.type}: {row.error.message}",
        "class": row.error.kind,
        "retryable": row.error.retryable,
    }


def _spent(row: Row) -> dict[str, Any]:
    """What the official keys have no place for: all counts, the judges', and the cost."""
    told: dict[str, Any] = {"usage": row.usage, "judges": row.judges, "cost": row.cost}
    return {name: value for name, value in told.items() if value not in (None, {})}


def _official_usage(row: Row) -> dict[str, Any] | None:
    if row.usage is None:
        return None
    return {
        "input_tokens": row.usage.get("input", 0),
        "output_tokens": row.usage.get("output", 0),
    }
