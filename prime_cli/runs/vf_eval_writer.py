"""results.jsonl and metadata.json, as read by the official `eval push` and `vf-tui`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypedDict

import msgspec

from prime_cli.core.paths import replacing
from prime_cli.runs.plan import EvalPlan
from prime_cli.runs.rows import Row
from prime_cli.runs.run_index import index_journal
from prime_cli.runs.summary import Summary
from prime_cli.runs.vf_eval_reader import ROW_KEYS

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


class ResultRow(TypedDict, total=False):
    """A line of results.jsonl; its metrics and columns of the state are further keys."""

    example_id: int | str
    prompt: Any
    completion: Any
    answer: str
    info: dict[str, Any]
    task: str
    reward: float | None
    error: dict[str, Any] | None
    timing: dict[str, Any]
    is_completed: bool
    is_truncated: bool
    stop_condition: str | None
    metrics: dict[str, float]
    token_usage: dict[str, Any] | None
    prime: dict[str, Any]


def official_row(row: Row) -> dict[str, Any]:
    """A row with the keys of verifiers 0.1.14, metrics also flat; `prime` is our addition.

    A metric named like a key of a row, ours or verifiers', is in `metrics` only.
    """
    known: ResultRow = {
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
        # Not as numbers of the row itself, which vf-tui takes for metrics.
        "prime": {"rollout": row.rollout, "attempt": row.attempt} | _spent(row),
    }
    kept = {name: value for name, value in known.items() if value is not None or name in _ALWAYS}
    flat = {name: value for name, value in row.metrics.items() if name not in ROW_KEYS}
    columns = {name: value for name, value in row.state.items() if name not in known}
    return flat | columns | kept


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
    fields: dict[str, Any] = {"usage": row.usage, "judges": row.judges, "cost": row.cost}
    return {name: value for name, value in fields.items() if value not in (None, {})}


def _official_usage(row: Row) -> dict[str, Any] | None:
    if row.usage is None:
        return None
    return {
        "input_tokens": row.usage.get("input", 0),
        "output_tokens": row.usage.get("output", 0),
    }


def official_metadata(plan: EvalPlan, summary: Summary) -> dict[str, Any]:
    """What verifiers 0.1.14 writes beside results.jsonl, plus `prime` with what it does not know.

    `env_id` is `owner/name` for an environment of a hub (the official client 0.18 pushes no other),
    else the bare name. Metrics appear twice: `avg_metrics` for 0.1.14, `avg_<metric>` for earlier
    releases and `eval push`.
    """
    scores = {name: metric.mean for name, metric in summary.metrics.items()}
    return {
        "env_id": plan.environment.slug,
        "env_args": plan.env_args,
        "model": plan.model,
        "base_url": plan.endpoint,
        "num_examples": summary.num_examples,
        "rollouts_per_example": plan.rollouts_per_example,
        "sampling_args": plan.sampling,
        "date": summary.date,
        "time": summary.seconds,
        "time_ms": (summary.seconds or 0.0) * 1000,
        # Those after it have precedence over a metric that is named like them.
        **{f"avg_{name}": mean for name, mean in scores.items()},
        "avg_reward": summary.reward.mean,
        "avg_metrics": scores,
        "avg_error": summary.error_rate,
        "usage": _mean_usage(summary),
        "version_info": {
            "vf_version": summary.environment.verifiers,
            "env_version": summary.environment.version,
        },
        "state_columns": list(plan.state_columns),
        "framework": "verifiers",
        "run_id": summary.run_id,
        "prime": {
            "usage": summary.usage,
            "cost": summary.cost,
            "asked_again": msgspec.to_builtins(summary.asked_again),
        },
    }


def _mean_usage(summary: Summary) -> dict[str, float] | None:
    """Tokens per finished rollout, as in 0.1.14."""
    finished = summary.counts.scored + summary.counts.errored
    if not finished:
        return None
    names = {"input_tokens": "input", "output_tokens": "output"}
    return {name: summary.usage.get(ours, 0) / finished for name, ours in names.items()}
