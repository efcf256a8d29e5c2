"""How a run's summary is shown, and how a command ends that a signal has stopped."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from prime_cli.core.builtin_models import ABOUT
from prime_cli.core.errors import UsageError
from prime_cli.core.formatting import (
    format_apart,
    format_exact,
    format_interval,
    format_number,
    join_words,
    pluralize,
    shorten,
)
from prime_cli.models.prices import format_cost
from prime_cli.runs.manifest import FINISHED
from prime_cli.runs.plan import Labels, RunChange
from prime_cli.runs.spending import served_words, spend_of
from prime_cli.runs.statistics.reducers import THRESHOLD, Reduced
from prime_cli.runs.summary import Reward, Summary
from prime_cli.session import Session
from prime_cli.wire.codec import decode
from prime_cli.wire.locks import Lock

_MOST_INDEXES, _MOST_SHOWN = 8, 12
"""Rollout indexes, and rewards of each, that are printed; the rest is in the files."""

_MOST_HOSTS = 5

_USAGE = ("calls", "input", "cached", "output", "reasoning", "input_tokens", "output_tokens")


def summary_lines(summary: Summary, *, brief: bool = False) -> list[tuple[str, str]]:
    """What vf-eval shows, and more: counts, rewards, bounds, metrics, usage, errors.

    `brief` leaves out the rewards of each rollout index, pass@k and the like, and how the
    interval was made.
    """
    about = ABOUT.get(summary.model)
    return [
        ("Environment", _environment(summary)),
        ("Model", f"{summary.model} ({about})" if about else summary.model),
        *(("  answered by", words) for words in served_words(summary.served)),
        *_labels(summary.labels),
        *_changes(summary.changes),
        ("Rollouts", _rollouts(summary)),
        *_status(summary),
        *(_brief_scores(summary) if brief else _scores(summary)),
        *_errors(summary),
        *_costs(summary),
        *([("Time", f"{summary.seconds:.1f} s")] if summary.seconds is not None else ()),
        ("Saved in", relative_path(summary.path)),
    ]


def _status(summary: Summary) -> list[tuple[str, str]]:
    """How a run ended early; nothing of one that is finished."""
    if summary.status == FINISHED:
        return []
    why = f": {summary.failure}" if summary.failure else ""
    return [("Status", summary.status + why)]


def _brief_scores(summary: Summary) -> list[tuple[str, str]]:
    lines = [("Reward", _reward(summary))]
    if summary.reward.interval is not None:
        lines.append(("", f"95 % interval {format_interval(summary.reward.interval)}"))
    lines.extend(_bounds(summary))
    if summary.metrics:
        means = (f"{name} {_number(metric.mean)}" for name, metric in summary.metrics.items())
        lines.append(("Metrics", ", ".join(means)))
    return lines


def _scores(summary: Summary) -> list[tuple[str, str]]:
    lines = [("Reward", _reward(summary))]
    if summary.reward.stderr is not None:
        lines.extend(("", words) for words in _precision(summary.reward))
    lines.extend(_bounds(summary))
    lines.extend(_rewards_by_index(summary))
    for reduced in summary.reduced:
        lines.extend(_reduced(reduced))
    lines.extend(
        (name, f"avg {_number(metric.mean)}, std {_number(metric.std)}")
        for name, metric in summary.metrics.items()
    )
    return lines


def _bounds(summary: Summary) -> list[tuple[str, str]]:
    """The rewards between which that of the whole lies, if only a part was scored."""
    if not (summary.counts.errored and summary.counts.scored):
        return []
    between = " and ".join(format_apart((summary.reward.low, summary.reward.high)))
    return [("", f"between {between}, with errors counted as 0 or left out")]


def _errors(summary: Summary) -> list[tuple[str, str]]:
    """What went wrong, what the environment did without, and what was asked twice."""
    lines = [
        (f"{error.kind} error", f"{error.count:,} x {error.type}: {shorten(error.message)}")
        for error in summary.errors
    ]
    lines.extend(("Imported", note) for note in summary.imported)
    lines.extend(("Withheld", f"{each.sentence}: {each.hint}") for each in summary.withheld)
    if summary.warned:
        count = pluralize(len(summary.warned), "warning")
        lines.append(("Warned", f"{count} of the environment: {summary.warned[0]}"))
    if summary.asked_again_words:
        lines.append(("Asked again", summary.asked_again_words))
    return lines


def _costs(summary: Summary) -> list[tuple[str, str]]:
    """What was spent, and what could not be counted."""
    lines = []
    if summary.usage:
        lines.extend(_spent(summary.usage, summary.uncounted))
    elif summary.uncounted:
        lines.append(("Cost", f"unknown{_beside(summary.uncounted)}"))
    if summary.refused:
        lines.append(("Refused", f"connections to {join_words(summary.refused, _MOST_HOSTS)}"))
    return lines


def _environment(summary: Summary) -> str:
    facts = summary.environment
    on = f" on verifiers {facts.verifiers}" if facts.verifiers else ""
    walls = ", in a sandbox" if facts.sandbox else ""
    return facts.ref + on + (f", harness {facts.harness}" if facts.harness else "") + walls


def _labels(labels: Labels) -> list[tuple[str, str]]:
    commit = str(labels.revision or "")
    lines = [("Tags", ", ".join(labels.tags)), ("Note", labels.note or ""), ("Commit", commit)]
    return [(name, text) for name, text in lines if text]


def _changes(changes: Sequence[RunChange]) -> list[tuple[str, str]]:
    """What was changed while it ran; the first of many are in the files."""
    shown = [("Changed", f"{each.at}, {each.by}: {each.words}") for each in changes[-_MOST_SHOWN:]]
    more = len(changes) - len(shown)
    return [("Changed", f"{more} times before"), *shown] if more else shown


def _rollouts(summary: Summary) -> str:
    counts = summary.counts
    parts = [counts.words]
    if counts.truncated:
        parts.append(f"{counts.truncated:,} truncated")
    if summary.shard:
        parts.append(f"part {summary.shard}")
    return ", ".join(parts)


def _reward(summary: Summary) -> str:
    if summary.counts.scored:
        return f"avg {_number(summary.reward.mean)}, std {_number(summary.reward.std)}"
    ended = "no rollout has ended" if not summary.counts.errored else "every rollout errored"
    return f"nothing was scored: {ended}"


def _precision(reward: Reward) -> list[str]:
    told = [f"standard error {format_number(reward.stderr)} over examples"]
    if reward.stderr == 0:
        equal = "all rewards are equal" if reward.std == 0 else "all examples had the same reward"
        told[0] += f", as {equal}"
    if reward.interval is not None:
        interval = format_interval(reward.interval)
        told.append(f"95 % interval {interval} ({reward.interval_method})")
    if reward.interval is not None and reward.stderr == 0:
        told.append("which allows for rewards of other examples")
    return told


def _reduced(reduced: Reduced) -> list[tuple[str, str]]:
    told = _number(reduced.value)
    if reduced.interval is not None:
        interval = format_interval(reduced.interval)
        told += f", 95 % interval {interval} ({reduced.interval_method})"
    lines = [(reduced.name, told)]
    if reduced.threshold is not None and reduced.threshold != THRESHOLD:
        least = format_exact(reduced.threshold)
        lines.append(("", f"a rollout passes with a reward of at least {least}"))
    if reduced.left_out:
        examples = pluralize(reduced.examples + reduced.left_out, "example")
        short = f"with fewer than {reduced.k} scored rollouts left out"
        lines.append(("", f"{reduced.left_out:,} of {examples} {short}"))
    return lines


def _rewards_by_index(summary: Summary) -> list[tuple[str, str]]:
    """A line for each rollout index, of which a training, asking again and again, has hundreds."""
    shown = list(summary.rollouts.items())[:_MOST_INDEXES]
    # A cancelled rollout has no score either.
    missing = "not scored" if summary.counts.cancelled else "error"
    lines = [(f"  {name}", _rewards(rewards, missing)) for name, rewards in shown]
    more = len(summary.rollouts) - len(shown)
    if more > 0:
        lines.append(("", f"… {more} more in `prime eval show {summary.run_id} --output json`"))
    return lines


def _rewards(rewards: Sequence[float | None], missing: str) -> str:
    shown = ", ".join(format_number(each, missing) for each in rewards[:_MOST_SHOWN])
    more = len(rewards) - _MOST_SHOWN
    return f"[{shown}, … {more} more]" if more > 0 else f"[{shown}]"


def _spent(usage: Mapping[str, Any], uncounted: Sequence[str]) -> list[tuple[str, str]]:
    """Tokens and cost in all; below them the judges' part, and that of each model of several."""
    lines = [("Tokens", _tokens(usage))]
    roles = {role: counts for role, counts in usage.get("roles", {}).items() if role != "policy"}
    parts = [*roles.items(), *usage.get("models", {}).items()]
    lines.extend((f"  {name}", f"{_tokens(counts)}; {_cost_of(counts)}") for name, counts in parts)
    if usage.get("hits"):
        calls = usage["hits"] + usage.get("calls", 0)
        lines.append(
            (
                "Cache",
                f"{usage['hits']:,} of {pluralize(calls, 'call')} from the cache",
            )
        )
    if "cost" in usage:
        lines.append(("Cost", format_cost(spend_of(usage)) + _beside(uncounted)))
    return lines


def _beside(uncounted: Sequence[str]) -> str:
    return (
        f", and calls to {join_words(uncounted, _MOST_HOSTS)} that were not counted"
        if uncounted
        else ""
    )


def _tokens(usage: Mapping[str, Any]) -> str:
    known = [(name, usage[name]) for name in _USAGE if usage.get(name)]
    words = ", ".join(f"{format_number(value)} {_unit(name, value)}" for name, value in known)
    return (words or "none") + (" (estimated)" if usage.get("estimated") else "")


def _unit(name: str, value: float) -> str:
    return "call" if name == "calls" and value == 1 else name.replace("_", " ")


def _cost_of(usage: Mapping[str, Any]) -> str:
    words = format_cost(spend_of(usage))
    return f"cost {words}" if words == "unknown" else words


def relative_path(path: str) -> str:
    """`path` as it is typed in this folder, whole when it lies elsewhere."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except ValueError:
        return path


def _number(value: float | None) -> str:
    return format_number(value, "none")


_SIGNALLED = 128
"""What a shell adds to the number of the signal that ended a process."""


def tried_lines(file: Path) -> list[str]:
    """The search behind the lock in `file` as a table: each set of packages, and how it ended."""
    try:
        lock = decode(file.read_bytes(), Lock)
    except (OSError, UsageError):
        return []  # a run in the workspace has none
    rows = [(each.verifiers or "-", (each.as_of or "today")[:10], each.why) for each in lock.tried]
    rows.append((lock.verifiers, (lock.as_of or "today")[:10], f"taken ({lock.found_by})"))
    head = f"{'verifiers':11}  {'packages of':11}  Result"
    return [head, *(f"{version:11}  {of:11}  {result}" for version, of, result in rows)]


def exit_if_signalled(session: Session, signal: int | None, command: str | None) -> None:
    """Name the `command` to resume, if any, and exit; does nothing without a `signal`."""
    if signal is None:
        return
    if command is not None:
        session.output.hint(f"what was finished is kept; continue with `{command}`")
    raise typer.Exit(_SIGNALLED + signal)
