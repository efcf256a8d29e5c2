"""Gates on the command line: read before a run costs anything, held to when it is done."""

import os
from dataclasses import dataclass
from pathlib import Path

from prime_cli.evals.comparison.compare import require_statistics
from prime_cli.evals.gate.github import append_summary, summary_file
from prime_cli.evals.gate.junit import write_junit
from prime_cli.evals.gate.thresholds import Judgement, Limits, check_limits, judge
from prime_cli.runs.saved_run import open_run
from prime_cli.runs.summary import Summary
from prime_cli.session import Session


@dataclass(frozen=True)
class Gates:
    """The limits of a run, and the files that tell how it kept them."""

    limits: Limits
    junit: Path | None = None
    github: Path | None = None

    @property
    def has_work(self) -> bool:
        """Whether anything was asked for."""
        return self != Gates(Limits())


def prepare_gates(
    session: Session,
    *,
    fail_under: float | None,
    baseline: str | None,
    max_drop: float | None,
    junit: Path | None,
    github_summary: bool | None,
) -> Gates:
    """Read the baseline and check every limit.

    Raises UsageError for limits that cannot be meant and where scipy is missing, NotFound for a
    baseline that is not there.
    """
    check_limits(fail_under, max_drop, baseline)
    github = summary_file(github_summary, os.environ)
    side = None
    if baseline is not None:
        from prime_cli.evals.gate.baseline import read_baseline

        require_statistics("Comparing with a baseline")
        side = read_baseline(baseline, Path.cwd(), lambda: session.hub)
    return Gates(Limits(fail_under, max_drop, side), junit, github)


def hold_to(gates: Gates, session: Session, folder: Path, summary: Summary) -> Judgement:
    """Judge the run in `folder`, write the reports and say how each gate went."""
    if not gates.has_work:
        return Judgement([])
    run = open_run(folder)
    judgement = judge(run, summary, gates.limits)
    if gates.junit is not None:
        outcomes, lowest = judgement.outcomes, gates.limits.fail_under
        write_junit(gates.junit, summary, run.rows(), outcomes, fail_under=lowest)
    if gates.github is not None:
        append_summary(gates.github, summary, judgement)
    for note in judgement.comparison.notes if judgement.comparison else ():
        session.output.warn(f"Against the baseline: {note}")
    for outcome in judgement.outcomes:
        if outcome.passed:
            session.output.say(f"{outcome.gate} passed: {outcome.sentence}")
        else:
            session.output.warn(f"{outcome.gate} missed: {outcome.sentence}")
    return judgement
