"""`prime eval rerun` and `prime eval rescore`."""

import os
from dataclasses import replace
from typing import Annotated

import msgspec
import typer

from prime_cli.commands.contract import EVALUATES
from prime_cli.commands.eval.summary import exit_if_signalled, summary_lines
from prime_cli.commands.options import YES, hub_options, open_session
from prime_cli.core.formatting import format_apart, pluralize
from prime_cli.core.options import Only
from prime_cli.evals.execution.run import EvalResult
from prime_cli.evals.planning.cost import check_cap
from prime_cli.evals.planning.parsers import given_variables
from prime_cli.evals.planning.request import EvalRequest
from prime_cli.evals.rerun.rerun import (
    ChangedReward,
    RewardChanges,
    changed_rewards,
    prepare_rerun,
    run_rerun,
)
from prime_cli.evals.rerun.rescore import RescoreOptions, prepare_rescore, run_rescore
from prime_cli.evals.rerun.source import RerunSource, find_source
from prime_cli.evals.rerun.upstream_traces import find_traces, rescore_traces
from prime_cli.models.registry import load_registry
from prime_cli.runs.plan import resume_command
from prime_cli.runs.saved_run import SavedRun, check_errors, open_run
from prime_cli.runs.summary import Summary
from prime_cli.session import Session


class RerunReport(msgspec.Struct, frozen=True):
    """What `--output json` prints; `of` is the run or evaluation that was repeated."""

    of: str
    summary: Summary
    changes: RewardChanges

    @classmethod
    def of_result(
        cls, result: EvalResult, source: RerunSource, only: frozenset[int] | None
    ) -> "RerunReport":
        """The report of `result`, whose rows are read again."""
        now = open_run(result.folder.path).rows()
        before = (row for row in source.rows() if only is None or row.example_id in only)
        return cls(source.name, result.summary, changed_rewards(before, now))


def _show_rerun(
    session: Session,
    result: EvalResult,
    source: RerunSource,
    *,
    resumable: bool = True,
    only: frozenset[int] | None = None,
) -> None:
    """Print the summary, the changes and the next step; exits after a signal.

    `only` are the repeated examples, None for all.
    """
    report = RerunReport.of_result(result, source, only)
    _show_report(session, report)
    command = resume_command(result.summary.run_id, result.plan) if resumable else None
    exit_if_signalled(session, result.signal, command)
    if report.changes.different and source.folder is not None:
        session.output.hint(
            f"test the difference with `prime eval compare {source.name} {result.summary.run_id}`"
        )


def _show_report(session: Session, report: RerunReport) -> None:
    lines = [*summary_lines(report.summary), *_change_lines(report)]
    session.output.show(report, lines=lines)


def _rescore_traces(session: Session, traces: SavedRun, changes: RescoreOptions) -> None:
    """Score a folder of verifiers' evaluator; the variables of `changes` are names."""
    given = given_variables(changes.request.env_vars)
    changes = replace(changes, request=replace(changes.request, env_vars=given.names))
    context = session.run_context(given=given.values)
    scored = rescore_traces(traces, changes, session.lookup_context(), context)
    _show_report(session, RerunReport(scored.of, scored.run.summary(), scored.changes))


def _change_lines(report: RerunReport) -> list[tuple[str, str]]:
    changes = report.changes
    common = changes.same + changes.different
    if not changes.different:
        told = f"all {common:,} rewards are the same"
    else:
        told = f"{changes.different:,} of {common:,} rewards differ"
    lines = [(f"Against {report.of}", told)]
    if changes.different and changes.before is not None and changes.now is not None:
        before, now = format_apart((changes.before, changes.now))
        lines.append(("", f"mean of these was {before}, is {now}"))
    lines.extend(
        (_place(each), " -> ".join(format_apart((each.before, each.now), "error")))
        for each in changes.first
    )
    more = changes.different - len(changes.first)
    if more > 0:
        lines.append(("", f"and {more:,} more"))
    if changes.only_before:
        lines.append(("", f"not repeated: {pluralize(changes.only_before, 'rollout')}"))
    return lines


def _place(changed: ChangedReward) -> str:
    return f"  {changed.example_id}.{changed.rollout}"


_PACE = {"names": ("--max-concurrent", "-c"), "show_default": "as in the run"}
_RERUN = Only(
    *("model", "max_concurrent", "base_url", "key_var", "endpoints_path", "provider", "headers"),
    *("env_vars", "max_cost", "token_budget", "cache", "sandbox", "allow_net", "only_gateway"),
    max_concurrent=_PACE,
)
_RESCORE = Only(
    *("env_args", "max_concurrent", "env_vars", "endpoints_path", "max_cost", "cache"),
    *("sandbox", "allow_net", "only_gateway"),
    max_concurrent=_PACE,
)


@hub_options(YES, answer=RerunReport, effects=EVALUATES)
def rerun(
    ctx: typer.Context,
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN|EVALUATION",
            help="A run's id or folder, or the id of an evaluation on the hub.",
        ),
    ],
    *,
    request: Annotated[EvalRequest, _RERUN],
    force: Annotated[
        bool, typer.Option("--force", help="Use the packages and data available today.")
    ] = False,
) -> None:
    """Repeat a run exactly.

    Creates a new run with the same wheel (by sha256), packages (by lock), examples (by
    fingerprint), sampling, arguments and rollouts. Refuses if something is no longer available.
    Compares the rewards with those of the first run at the end.

    \b
    Example:
      prime eval rerun 1f2e3d4c
      prime eval rerun 1f2e3d4c -m builtin/replay:1f2e3d4c
    \b
    See also: `prime eval rescore`, `prime eval compare`, `prime eval run`.
    """
    session = open_session(ctx)
    given = given_variables(request.env_vars)
    request = replace(request, env_vars=given.names)
    lookup = session.lookup_context()
    source = find_source(run, lookup.cwd, lookup.hub)
    again = prepare_rerun(source, request, lookup, os.environ, session.progress, force=force)
    result = run_rerun(again, session.run_context(given=given.values))
    _show_rerun(session, result, source)
    check_cap(result.summary, result.plan)
    check_errors(result.summary, result.plan)


@hub_options(YES, answer=RerunReport, effects=EVALUATES)
def rescore(
    ctx: typer.Context,
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN|EVALUATION",
            help="A run's id or folder, or the id of an evaluation on the hub.",
        ),
    ],
    *,
    changes: RescoreOptions,
    request: Annotated[EvalRequest, _RESCORE],
) -> None:
    """Score the saved rollouts of a run again.

    Uses the rewards of the run's own version or of `--environment`. Does not call the model, but
    calls judges that the rewards use. The result is a separate run. Of a folder that `vf-eval` has
    written the traces are scored as by `vf-replay`: without rewards that need the task's runtime.

    \b
    Example:
      prime eval rescore 1f2e3d4c --environment ./my-env
      prime eval rescore 1f2e3d4c --example 3 --replay
    \b
    See also: `prime eval rerun`, `prime eval compare`, `prime eval show`.
    """
    session = open_session(ctx)
    lookup = session.lookup_context()
    if (traces := find_traces(run, lookup.cwd)) is not None:
        _rescore_traces(session, traces, replace(changes, request=request))
        return
    given = given_variables(request.env_vars)
    changes = replace(changes, request=replace(request, env_vars=given.names))
    source = find_source(run, lookup.cwd, lookup.hub)
    rescoring = prepare_rescore(source, changes, lookup, session.progress)
    registry = load_registry(request.endpoints_path, lookup.cwd, os.environ)
    result = run_rescore(rescoring, registry, session.run_context(given=given.values))
    _show_rerun(session, result, source, resumable=False, only=changes.only)
    check_cap(result.summary, result.plan)
    check_errors(result.summary, result.plan)
