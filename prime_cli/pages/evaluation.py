"""The page of one evaluation."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from prime_cli.core.formatting import pluralize
from prime_cli.pages.html import HtmlPage, TableCell, environment_link, number, section, table, text
from prime_cli.wire.evaluations import EvaluationDetail, MetricSummary

_SHOWN = 600
"""Characters of a prompt or completion on the page."""
_BARS = 10
_BAR_WIDTH, _HEIGHT = 40, 100
_WIDTH = _BARS * _BAR_WIDTH


def render_evaluation(
    detail: EvaluationDetail, samples: Sequence[Mapping[str, Any]], rewards: Sequence[float]
) -> HtmlPage:
    """Metrics, the distribution of `rewards`, and the samples given."""
    names = ", ".join(environment_link(name) for name in detail.environment_names)
    summary = detail.summary
    counts = (
        f"{pluralize(summary.samples, 'sample')}, {pluralize(summary.errors, 'error')}"
        if summary
        else "no samples yet"
    )
    body = (
        f"<p>{escape(detail.model_name or 'A model')} on {names or 'nothing on this hub'} · "
        f"{escape(detail.status)} · {counts}</p>\n"
        + _retried(detail.metadata)
        + section("Metrics", _metrics(summary.metrics if summary else {}))
        + section("Rewards", draw_histogram(rewards))
        + section(f"First {len(samples)} samples", _samples(samples))
    )
    return HtmlPage(detail.name, body, wide=True)


def _retried(metadata: Mapping[str, Any]) -> str:
    """How many rollouts were retried, as `eval push` reports it; else nothing."""
    own = metadata.get("prime")
    counts = own.get("asked_again") if isinstance(own, dict) else None
    if not isinstance(counts, dict):
        return ""
    known = {name: count for name, count in counts.items() if isinstance(count, int) and count > 0}
    rollouts = known.pop("rollouts", 0)
    why = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in known.items())
    return f"<p>{escape(f'{rollouts} rollouts were retried ({why})')}</p>\n" if rollouts else ""


def draw_histogram(rewards: Sequence[float]) -> str:
    """An SVG of ten bars from the lowest reward to the highest."""
    if not rewards:
        return '<p class="faint">No rewards.</p>'
    least, most = min(rewards), max(rewards)
    counts = [0] * _BARS
    for reward in rewards:
        part = (reward - least) / (most - least) if most > least else 0.0
        counts[min(int(part * _BARS), _BARS - 1)] += 1
    bars = "".join(_bar(index, count, max(counts)) for index, count in enumerate(counts))
    label = f"{len(rewards)} rewards from {least:.3f} to {most:.3f}"
    return (
        f'<svg role="img" aria-label="{label}" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}">{bars}</svg><p class="faint">{label}</p>'
    )


def _bar(index: int, count: int, highest: int) -> str:
    height = round(count / highest * _HEIGHT)
    return (
        f'<rect x="{index * _BAR_WIDTH}" y="{_HEIGHT - height}" width="{_BAR_WIDTH - 2}" '
        f'height="{height}"><title>{count}</title></rect>'
    )


def _metrics(metrics: Mapping[str, MetricSummary]) -> str:
    rows = [
        (
            text(name),
            number(metric.count),
            number(metric.mean),
            number(metric.std),
            number(metric.min),
            number(metric.max),
        )
        for name, metric in metrics.items()
    ]
    heads = ("Metric", "Samples", "Mean", "Standard deviation", "Minimum", "Maximum")
    return table(heads, rows, "No metrics.")


def _samples(samples: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        (
            text(sample.get("example_id")),
            _message(sample.get("prompt")),
            _message(sample.get("completion")),
            _reward(sample.get("reward")),
        )
        for sample in samples
    ]
    return table(("Example", "Prompt", "Completion", "Reward"), rows, "No samples.")


def _message(value: Any) -> TableCell:
    """A chat or any other value as text, cut after `_SHOWN` characters."""
    if isinstance(value, list):
        parts = [str(turn.get("content")) for turn in value if isinstance(turn, dict)]
        value = "\n".join(parts)
    shown = "" if value is None else str(value)
    return TableCell(f"<pre>{escape(shown[:_SHOWN])}{'…' if len(shown) > _SHOWN else ''}</pre>")


def _reward(value: Any) -> TableCell:
    return number(float(value)) if isinstance(value, int | float) else text("error")
