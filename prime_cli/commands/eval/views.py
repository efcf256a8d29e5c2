"""How a person reads a run: the summary as labelled lines."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from prime_cli.evals.spending import spend_of
from prime_cli.evals.summary import Reward, Summary
from prime_cli.models.budget import cost_words

_MOST_SHOWN = 12
"""Rewards of one rollout index that are printed; the rest is in the files."""

_USAGE = ("calls", "input", "cached", "output", "reasoning", "input_tokens", "output_tokens")


def summary_lines(summary: Summary) -> list[tuple[str, str]]:
    """What vf-eval shows, and more: counts, rewards, bounds, metrics, usage, errors."""
    counts = summary.counts
    lines = [
        ("Environment", _environment(summary)),
        ("Model", summary.model),
        ("Rollouts", _rollouts(summary)),
    ]
    if summary.status != "finished":
        why = f": {summary.failure}" if summary.failure else ""
        lines.append(("Status", summary.status + why))
    lines.append(
        ("Reward", f"avg {_number(summary.reward.mean)}, std {_number(summary.reward.std)}")
    )
    if summary.reward.stderr is not None:
        lines.append(("", _precision(summary.reward)))
    if counts.errored:
        low, high = _number(summary.reward.low), _number(summary.reward.high)
        lines.append(("", f"between {low} and {high}, as errors are counted as 0 or left out"))
    lines.extend((f"  {name}", _rewards(rewards)) for name, rewards in summary.rollouts.items())
    lines.extend(
        (name, f"avg {_number(metric.mean)}, std {_number(metric.std)}")
        for name, metric in summary.metrics.items()
    )
    lines.extend(
        (f"{error.kind} error", f"{error.count} x {error.type}: {error.message}")
        for error in summary.errors
    )
    if summary.usage:
        lines.extend(_spent(summary.usage))
    if summary.seconds is not None:
        lines.append(("Time", f"{summary.seconds:.1f} s"))
    lines.append(("Saved in", from_here(summary.path)))
    return lines


def _environment(summary: Summary) -> str:
    facts = summary.environment
    on = f" on verifiers {facts.verifiers}" if facts.verifiers else ""
    walls = ", in a sandbox" if facts.sandbox else ""
    return facts.ref + on + (f", harness {facts.harness}" if facts.harness else "") + walls


def _rollouts(summary: Summary) -> str:
    counts = summary.counts
    parts = [f"{counts.planned} planned", f"{counts.scored} scored", f"{counts.errored} errored"]
    if counts.truncated:
        parts.append(f"{counts.truncated} truncated")
    return ", ".join(parts)


def _precision(reward: Reward) -> str:
    told = f"standard error {_number(reward.stderr)} over examples"
    if reward.interval is None:
        return told
    low, high = reward.interval
    return f"{told}, 95 % interval {_number(low)} to {_number(high)}"


def _rewards(rewards: Sequence[float | None]) -> str:
    shown = ", ".join("error" if r is None else _number(r) for r in rewards[:_MOST_SHOWN])
    more = len(rewards) - _MOST_SHOWN
    return f"[{shown}, … {more} more]" if more > 0 else f"[{shown}]"


def _spent(usage: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Tokens and cost in all; below them the judges' part, and that of each model of several."""
    lines = [("Tokens", _tokens(usage))]
    roles = {role: counts for role, counts in usage.get("roles", {}).items() if role != "policy"}
    parts = [*roles.items(), *usage.get("models", {}).items()]
    lines.extend((f"  {name}", f"{_tokens(counts)}; {_cost_of(counts)}") for name, counts in parts)
    if usage.get("hits"):
        calls = usage["hits"] + usage.get("calls", 0)
        lines.append(("Cache", f"{usage['hits']:,} of {calls:,} calls from the cache"))
    if "cost" in usage:
        lines.append(("Cost", cost_words(spend_of(usage))))
    return lines


def _tokens(usage: Mapping[str, Any]) -> str:
    known = [(name, usage[name]) for name in _USAGE if usage.get(name)]
    counted = ", ".join(f"{value:,.0f} {name.replace('_', ' ')}" for name, value in known)
    return (counted or "none") + (" (estimated)" if usage.get("estimated") else "")


def _cost_of(usage: Mapping[str, Any]) -> str:
    words = cost_words(spend_of(usage))
    return f"cost {words}" if words == "unknown" else words


def from_here(path: str) -> str:
    """`path` as it is typed in this folder, whole when it lies elsewhere."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except ValueError:
        return path


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}".rstrip("0").rstrip(".")
