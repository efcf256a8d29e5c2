"""`prime eval gate`, and the gates of `prime eval run`."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from prime_cli.commands.contract import WRITES
from prime_cli.commands.eval.run_options import GateOptions, ReportOptions
from prime_cli.commands.options import hub_options, open_session
from prime_cli.core.errors import ExitCode
from prime_cli.core.formatting import format_number
from prime_cli.core.options import Only
from prime_cli.evals.gate.reports import append_summary, write_junit
from prime_cli.evals.gate.thresholds import (
    GateResult,
    ThresholdResult,
    Thresholds,
    check_gates,
    check_limits,
    judge,
)
from prime_cli.evals.planning.request import EvalRequest
from prime_cli.runs.comparison.compare import Comparison, require_statistics
from prime_cli.runs.listing import find_run
from prime_cli.runs.manifest import FINISHED
from prime_cli.runs.rows import AskedAgain
from prime_cli.runs.saved_run import check_ended, check_error_rate, open_run
from prime_cli.runs.summary import Counts, Reward, Summary
from prime_cli.session import Session


@dataclass(frozen=True)
class Gates:
    """The limits of a run, and the files that tell how it kept them."""

    limits: Thresholds
    junit: Path | None = None
    github: Path | None = None

    @property
    def has_work(self) -> bool:
        """Whether anything was asked for."""
        return self != Gates(Thresholds(folder=self.limits.folder))


def prepare_gates(session: Session, limits: GateOptions, reports: ReportOptions) -> Gates:
    """Read the baseline and check every limit.

    Raises UsageError for limits that cannot be meant and where scipy is missing, NotFound for a
    baseline that is not there.
    """
    if limits != GateOptions():
        check_limits(limits.fail_under, limits.max_drop, limits.baseline, limits.require_calibrated)
    github = reports.summary_file(os.environ)
    side = None
    if limits.baseline is not None:
        from prime_cli.evals.gate.thresholds import read_baseline

        require_statistics("Comparing with a baseline")
        side = read_baseline(limits.baseline, Path.cwd(), lambda: session.hub)
    thresholds = Thresholds(
        limits.fail_under, limits.max_drop, side, limits.require_calibrated, Path.cwd()
    )
    return Gates(thresholds, reports.junit, github)


def apply_gates(gates: Gates, session: Session, folder: Path, summary: Summary) -> GateResult:
    """Judge the run in `folder`, write the reports and say how each gate went."""
    if not gates.has_work:
        return GateResult([])
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


class GateReport(msgspec.Struct, frozen=True):
    """What `--output json` prints: whether all was kept and the run is whole, and each gate."""

    run_id: str
    passed: bool
    counts: Counts
    reward: Reward
    gates: list[ThresholdResult]
    asked_again: AskedAgain | None = None
    comparison: Comparison | None = None


@hub_options(answer=GateReport, effects=WRITES, exits=(ExitCode.GATE, ExitCode.PARTIAL))
def gate(
    ctx: typer.Context,
    run: Annotated[
        str | None,
        typer.Argument(help="A run's id or its folder.", show_default="the newest here"),
    ] = None,
    *,
    limits: GateOptions,
    request: Annotated[EvalRequest, Only("max_error_rate")],
    reports: ReportOptions,
) -> None:
    """Check a saved evaluation against limits.

    Applies the gates of `prime eval run` to a run that has ended. Exits 3 if the run is incomplete
    or has too many errors, otherwise 1 if a gate fails.

    \b
    Example:
      prime eval gate --fail-under 0.6 --junit report.xml
      prime eval gate 1f2e3d4c --baseline 9a8b7c6d --max-drop 0.02
      prime eval gate --require-calibrated 0.6
    \b
    See also: `prime eval compare`, `prime judge calibrate`, `prime eval run`.
    """
    session = open_session(ctx)
    gates = prepare_gates(session, limits, reports)
    saved = find_run(run, Path.cwd())
    with session.progress.task(f"Reading {saved.folder.run_id}"):
        summary = saved.summary()
        judgement = apply_gates(gates, session, saved.folder.path, summary)
    report = _report(summary, judgement, request.max_error_rate)
    session.output.show(report, lines=_lines(report))
    if not report.gates:
        session.output.hint(
            "no limit was given, so only errors count; give one: `--fail-under 0.6`"
        )
    check_ended(summary)
    check_error_rate(summary, request.max_error_rate)
    check_gates(judgement.outcomes, summary.run_id)


def _report(summary: Summary, judgement: GateResult, max_error_rate: float) -> GateReport:
    kept = all(outcome.passed for outcome in judgement.outcomes)
    whole = summary.status == FINISHED and summary.error_rate <= max_error_rate
    return GateReport(
        run_id=summary.run_id,
        passed=kept and whole,
        counts=summary.counts,
        reward=summary.reward,
        gates=judgement.outcomes,
        asked_again=summary.asked_again,
        comparison=judgement.comparison,
    )


def _lines(report: GateReport) -> list[tuple[str, str]]:
    return [
        ("Run", report.run_id),
        ("Reward", format_number(report.reward.mean, "none")),
        ("Rollouts", report.counts.words),
        *((("Asked again", again.words),) if (again := report.asked_again) and again.words else ()),
        *((each.gate, "passed" if each.passed else "missed") for each in report.gates),
    ]
