"""The summary of a GitHub Actions step: Markdown, appended to the file that GitHub names."""

import re
from collections.abc import Mapping
from pathlib import Path

from prime_cli.core.errors import UsageError
from prime_cli.core.paths import storage_errors
from prime_cli.evals.comparison.records import Comparison
from prime_cli.evals.gate.thresholds import Judgement, Outcome
from prime_cli.runs.summary import Summary

VARIABLE = "GITHUB_STEP_SUMMARY"
_MOST_FLIPS = 20
_SPECIAL = re.compile(r"([\\`*_\[\]#|~$@<>&])")


def summary_file(wanted: bool | None, environ: Mapping[str, str]) -> Path | None:  # noqa: FBT001 a flag's three states
    """Where to append; None when nothing is to be.

    By default wherever GitHub names a file; raises UsageError when one is wanted and none named.
    """
    named = environ.get(VARIABLE)
    if wanted and not named:
        raise UsageError(
            f"`--github-summary` needs the variable {VARIABLE}, which is not set",
            hint="GitHub Actions sets it in every step",
        )
    return None if wanted is False or not named else Path(named)


def append_summary(path: Path, summary: Summary, judgement: Judgement) -> None:
    """Append a table of the run and its gates; raises StorageFailed."""
    with storage_errors(path), path.open("a", encoding="utf-8", newline="\n") as file:
        file.write(summary_markdown(summary, judgement))


def summary_markdown(summary: Summary, judgement: Judgement) -> str:
    """A heading, a table of figures, gates and the comparison, and the flips folded away."""
    rows = [
        ("Reward", _reward(summary)),
        ("Rollouts", _rollouts(summary)),
        *((("Asked again", again),) if (again := summary.asked_again_words) else ()),
        *((f"Gate {each.gate}", _gate(each)) for each in judgement.outcomes),
    ]
    comparison = judgement.comparison
    if comparison is not None:
        rows.append(("Compared", f"{comparison.sentence}{_interval(comparison)}"))
        rows.extend(("Note", note) for note in comparison.notes)
    title = _written(f"{summary.environment.ref} with {summary.model}")
    table = "".join(f"| {_written(name)} | {_written(text)} |\n" for name, text in rows)
    head = f"### {title}\n\n| Run | {_written(summary.run_id)} |\n|---|---|\n{table}\n"
    return head + (_flips(comparison) if comparison is not None and comparison.flips else "")


def _reward(summary: Summary) -> str:
    reward = summary.reward
    if reward.mean is None:
        return "none"
    told = f"{reward.mean:.4g}"
    if reward.interval is not None:
        low, high = reward.interval
        told += f", 95 % interval {low:.3f} to {high:.3f}"
    if summary.counts.errored and reward.low is not None and reward.high is not None:
        told += f", between {reward.low:.4g} and {reward.high:.4g} as errors are counted"
    return told


def _rollouts(summary: Summary) -> str:
    counts = summary.counts
    return f"{counts.planned} planned, {counts.scored} scored, {counts.errored} errored"


def _gate(outcome: Outcome) -> str:
    return f"{'passed' if outcome.passed else 'missed'}: {outcome.sentence}"


def _interval(comparison: Comparison) -> str:
    if comparison.interval is None:
        return ""
    low, high = comparison.interval
    return f"; {comparison.difference:+.3f}, 95 % interval {low:+.3f} to {high:+.3f}"


def _flips(comparison: Comparison) -> str:
    shown = comparison.flips[:_MOST_FLIPS]
    lines = [f"| {flip.example_id} | {flip.first:.3f} | {flip.other:.3f} |\n" for flip in shown]
    more = len(comparison.flips) - len(shown)
    rest = f"\n{more} more are in `prime eval compare --output json`.\n" if more else ""
    return (
        f"<details><summary>{len(comparison.flips)} examples changed</summary>\n\n"
        f"| Example | Before | Now |\n|---|---|---|\n{''.join(lines)}{rest}\n</details>\n\n"
    )


def _written(text: str) -> str:
    """`text` that Markdown shows as it is, on one line."""
    printable = "".join(c if c.isprintable() else " " for c in text)
    return _SPECIAL.sub(r"\\\1", printable).replace("\\<", "&lt;").replace("\\&", "&amp;")
