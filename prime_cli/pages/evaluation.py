"""The page of one evaluation."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from prime_cli.pages.charts import draw_histogram
from prime_cli.pages.templates import Html, Page
from prime_cli.wire.evaluations import EvaluationDetail

_SHOWN = 600
"""Characters of a prompt or completion on the page."""


class SampleRow(Struct, frozen=True):
    """A sample with the beginning of its texts; `reward` is None for an error."""

    example: str
    prompt: str
    completion: str
    reward: float | None


class EvaluationRecord(Struct, frozen=True, kw_only=True):
    """An evaluation, a chart of its rewards, and its first samples."""

    detail: EvaluationDetail
    retried: str
    chart: Html
    samples: list[SampleRow]


def evaluation_page(
    detail: EvaluationDetail, samples: Sequence[Mapping[str, Any]], rewards: Sequence[float]
) -> Page:
    """Metrics, the distribution of `rewards`, and the samples given."""
    record = EvaluationRecord(
        detail=detail,
        retried=_retried(detail.metadata),
        chart=Html(draw_histogram(rewards, "Rewards")),
        samples=[_row(sample) for sample in samples],
    )
    return Page(
        "evaluation.html", detail.name, record, command=(f"prime eval get {detail.evaluation_id}",)
    )


def _retried(metadata: Mapping[str, Any]) -> str:
    """How many rollouts were retried, as `eval push` reports it; else nothing."""
    own = metadata.get("prime")
    counts = own.get("asked_again") if isinstance(own, dict) else None
    if not isinstance(counts, dict):
        return ""
    known = {name: count for name, count in counts.items() if isinstance(count, int) and count > 0}
    rollouts = known.pop("rollouts", 0)
    why = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in known.items())
    return f"{rollouts} rollouts were retried ({why})" if rollouts else ""


def _row(sample: Mapping[str, Any]) -> SampleRow:
    reward = sample.get("reward")
    example = sample.get("example_id")
    return SampleRow(
        "" if example is None else str(example),
        _message(sample.get("prompt")),
        _message(sample.get("completion")),
        float(reward) if isinstance(reward, int | float) else None,
    )


def _message(value: Any) -> str:
    """A chat or any other value as text, cut after `_SHOWN` characters."""
    if isinstance(value, list):
        parts = [str(turn.get("content")) for turn in value if isinstance(turn, dict)]
        value = "\n".join(parts)
    shown = "" if value is None else str(value)
    return f"{shown[:_SHOWN]}{'…' if len(shown) > _SHOWN else ''}"
