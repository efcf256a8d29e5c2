"""The reports that a CI reads: JUnit XML, and the summary of a GitHub Actions step.

JUnit XML has one test case per example and one per gate, as Jenkins, GitLab and GitHub's reporters
read it: `testsuites`, `testsuite`, `testcase` with `failure` or `error`. An example with a rollout
that ended in an error is an error; one whose mean reward is too low is a failure. The summary of a
step is Markdown, appended to the file that GitHub names.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from prime_cli.core.formatting import (
    format_apart,
    format_difference,
    format_interval,
    format_number,
    pluralize,
)
from prime_cli.core.paths import replacing, storage_errors
from prime_cli.evals.gate.thresholds import GateResult, ThresholdResult, beside_limit, is_below
from prime_cli.runs.comparison.compare import Comparison
from prime_cli.runs.rows import Row
from prime_cli.runs.summary import Summary

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot contain (section 2.2), escaped or not."""

FAILURE = "failure"
ERROR = "error"
_LONGEST = 2000
"""The longest error text, in characters."""


@dataclass(frozen=True)
class Case:
    """One test case; `kind` is FAILURE, ERROR or None when it passed. `seconds` is its time."""

    name: str
    kind: str | None = None
    type: str = ""
    message: str = ""
    detail: str = ""
    seconds: float = 0.0


def write_junit(
    path: Path,
    summary: Summary,
    rows: Iterable[Row],
    outcomes: Sequence[ThresholdResult],
    *,
    fail_under: float | None,
) -> None:
    """Write the report of a run to `path`, atomically; raises StorageFailed.

    `rows` are sorted by example. Without `fail_under` an example with a reward of 0 fails.
    """
    examples = list(_cases(rows, fail_under, summary.run_id))
    gates = [_gate(outcome) for outcome in outcomes]
    suites = [_suite(f"{summary.environment.ref} with {summary.model}", examples, summary)]
    if gates:
        suites.append(_suite("gates", gates, summary))
    every = [*examples, *gates]
    with replacing(path, mode=0o644) as file:
        file.write(b'<?xml version="1.0" encoding="UTF-8"?>\n')
        file.write(f'<testsuites name="prime eval" {_counts(every)}>\n'.encode())
        for suite in suites:
            file.writelines(line.encode() for line in suite)
        file.write(b"</testsuites>\n")


def _cases(rows: Iterable[Row], fail_under: float | None, run_id: str) -> Iterator[Case]:
    for example, group in groupby(rows, key=attrgetter("example_id")):
        yield _case(example, list(group), fail_under, run_id)


def _case(example: int, rows: list[Row], fail_under: float | None, run_id: str) -> Case:
    name = f"example {example}"
    seconds = sum(_seconds(row) for row in rows)
    outcomes = [f"rollout {row.rollout}: {_outcome(row)}" for row in rows]
    detail = "\n".join([*outcomes, f"see `prime eval show {run_id} --example {example}`"])
    failed = [row.error for row in rows if row.error is not None]
    if failed:
        message = f"{len(failed)} of {pluralize(len(rows), 'rollout')} ended in an error"
        return Case(name, ERROR, f"{failed[0].kind}.{failed[0].type}", message, detail, seconds)
    rewards = [row.reward for row in rows if row.reward is not None]
    mean = math.fsum(rewards) / len(rewards) if rewards else 0.0
    if mean <= 0 if fail_under is None else is_below(mean, fail_under):
        told = format_number(mean) if fail_under is None else beside_limit(mean, fail_under)
        return Case(name, FAILURE, "reward", f"mean reward {told}", detail, seconds)
    return Case(name, seconds=seconds)


def _outcome(row: Row) -> str:
    if row.error is not None:
        return f"{row.error.kind} error {row.error.type}: {row.error.message[:_LONGEST]}"
    return "no reward" if row.reward is None else f"reward {format_number(row.reward)}"


def _seconds(row: Row) -> float:
    total = row.timing.get("total")
    return float(total) if isinstance(total, int | float) and math.isfinite(total) else 0.0


def _gate(outcome: ThresholdResult) -> Case:
    if outcome.passed:
        return Case(outcome.gate)
    return Case(outcome.gate, FAILURE, "gate", outcome.sentence, outcome.sentence)


def _suite(name: str, cases: Sequence[Case], summary: Summary) -> Iterator[str]:
    began = f" timestamp={_quoted(summary.date)}" if summary.date else ""
    yield f"  <testsuite name={_quoted(name)} {_counts(cases)}{began}>\n"
    for case in cases:
        yield from _lines(case, summary.environment.ref)
    yield "  </testsuite>\n"


def _lines(case: Case, environment: str) -> Iterator[str]:
    head = f"    <testcase classname={_quoted(environment)} name={_quoted(case.name)}"
    head += f' time="{case.seconds:.3f}"'
    if case.kind is None:
        yield f"{head}/>\n"
        return
    about = f"message={_quoted(case.message)} type={_quoted(case.type)}"
    yield f"{head}>\n      <{case.kind} {about}>{_written(case.detail)}</{case.kind}>\n"
    yield "    </testcase>\n"


def _counts(cases: Sequence[Case]) -> str:
    failures = sum(case.kind == FAILURE for case in cases)
    errors = sum(case.kind == ERROR for case in cases)
    seconds = sum(case.seconds for case in cases)
    return f'tests="{len(cases)}" failures="{failures}" errors="{errors}" time="{seconds:.3f}"'


def _written(text: str) -> str:
    return escape(_FORBIDDEN.sub("\ufffd", text))


def _quoted(text: str) -> str:
    return quoteattr(_FORBIDDEN.sub("\ufffd", text))


_MOST_FLIPS = 20
_SPECIAL = re.compile(r"([\\`*_\[\]#|~$@<>&])")


def append_summary(path: Path, summary: Summary, judgement: GateResult) -> None:
    """Append a table of the run and its gates; raises StorageFailed."""
    with storage_errors(path), path.open("a", encoding="utf-8", newline="\n") as file:
        file.write(summary_markdown(summary, judgement))


def summary_markdown(summary: Summary, judgement: GateResult) -> str:
    """A heading, a table of figures, gates, the comparison, and the flips in a collapsed part."""
    rows = [
        ("Reward", _reward(summary)),
        ("Rollouts", summary.counts.words),
        *((("Asked again", again),) if (again := summary.asked_again_words) else ()),
        *((f"Gate {each.gate}", _gate_line(each)) for each in judgement.outcomes),
    ]
    comparison = judgement.comparison
    if comparison is not None:
        rows.append(("Compared", f"{comparison.sentence}{_interval(comparison)}"))
        rows.extend(("Note", note) for note in comparison.notes)
    title = _escaped(f"{summary.environment.ref} with {summary.model}")
    table = "".join(f"| {_escaped(name)} | {_escaped(text)} |\n" for name, text in rows)
    head = f"### {title}\n\n| Run | {_escaped(summary.run_id)} |\n|---|---|\n{table}\n"
    return head + (_flips(comparison) if comparison is not None and comparison.flips else "")


def _reward(summary: Summary) -> str:
    reward = summary.reward
    if reward.mean is None:
        return "none"
    told = format_number(reward.mean)
    if reward.interval is not None:
        told += f", 95 % interval {format_interval(reward.interval)}"
    if summary.counts.errored and reward.low is not None and reward.high is not None:
        low, high = format_apart((reward.low, reward.high))
        told += f", between {low} and {high} as errors are counted"
    return told


def _gate_line(outcome: ThresholdResult) -> str:
    return f"{'passed' if outcome.passed else 'missed'}: {outcome.sentence}"


def _interval(comparison: Comparison) -> str:
    if comparison.interval is None:
        return ""
    interval = format_interval(comparison.interval, signed=True)
    return f"; {format_difference(comparison.difference)}, 95 % interval {interval}"


def _flips(comparison: Comparison) -> str:
    shown = comparison.flips[:_MOST_FLIPS]
    pairs = ((flip.example_id, *format_apart((flip.first, flip.other))) for flip in shown)
    lines = [f"| {example} | {first} | {other} |\n" for example, first, other in pairs]
    more = len(comparison.flips) - len(shown)
    rest = f"\n{more} more are in `prime eval compare --output json`.\n" if more else ""
    return (
        f"<details><summary>{pluralize(len(comparison.flips), 'example')} changed</summary>\n\n"
        f"| Example | Before | Now |\n|---|---|---|\n{''.join(lines)}{rest}\n</details>\n\n"
    )


def _escaped(text: str) -> str:
    """`text` on one line, escaped for Markdown."""
    printable = "".join(c if c.isprintable() else " " for c in text)
    return _SPECIAL.sub(r"\\\1", printable).replace("\\<", "&lt;").replace("\\&", "&amp;")
