"""`prime eval run`."""

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from prime_cli.commands.contract import EVALUATES
from prime_cli.commands.eval.run_options import (
    PANELS,
    STEP_SUMMARY,
    AcceptedOptions,
    DatasetOptions,
    GateOptions,
    JobOptions,
    ReportOptions,
    ResultOptions,
    ResumeOptions,
    collect_config_args,
    to_debug,
)
from prime_cli.commands.eval.summary import exit_if_signalled, summary_lines, tried_lines
from prime_cli.commands.options import (
    CONTEXT,
    LONG_OUTPUT,
    OFFLINE,
    QUIET,
    YES,
    HelpSection,
    add_help,
    common_options,
    open_session,
    panel_order,
    rewrite_args,
)
from prime_cli.core.completion_cache import remember
from prime_cli.core.errors import ExitCode, NotFound, UsageError
from prime_cli.evals.execution.run import EvalResult, OnStart, run_evaluation
from prime_cli.evals.execution.setup import RunContext
from prime_cli.evals.planning.cost import check_cap
from prime_cli.evals.planning.parsers import given_variables
from prime_cli.evals.planning.prepare import PreparedRun
from prime_cli.evals.planning.request import EvalRequest
from prime_cli.models.gateway.limits.shared_state import describe_limits, limits_folder
from prime_cli.runs.folder import RunFolder
from prime_cli.runs.plan import EvalPlan, resume_command
from prime_cli.runs.saved_run import SavedRun, check_errors
from prime_cli.runs.summary import Summary
from prime_cli.session import Session

if TYPE_CHECKING:
    from prime_cli.evals.resume.policy import RunPolicy


class DryRun(msgspec.Struct, frozen=True):
    """What `--dry-run` prints: the plan, and verifiers' configuration of a v1 environment."""

    plan: EvalPlan
    config: Mapping[str, Any] | None


_JOBS = "prime_cli.commands.eval.job"
_BOARDS = "prime_cli.evals.suites.leaderboard"


def _environment_flags(given: Mapping[str, Any]) -> HelpSection | None:
    """The flags of the environment that the words name, as an earlier run has found them."""
    word = given.get("environment")
    if not word:
        return None
    from prime_cli.evals.execution.config import find_flags

    known = find_flags(word, Path.cwd())
    if known is None:
        command = f"`prime eval run {word} --dry-run`"
        return f"{command} shows the flags that a v1 environment adds.", []
    rows = [(flag, text and f"Default: {text}") for flag, text in known.flags.items()]
    return f"Flags of {known.title} on verifiers {known.verifiers}", rows


@add_help(_environment_flags)
@rewrite_args(collect_config_args)
@panel_order(*PANELS)
@common_options(
    YES,
    LONG_OUTPUT,
    QUIET,
    CONTEXT,
    OFFLINE,
    answer=(Summary, DryRun, f"{_JOBS}:PrintedJob", f"{_BOARDS}:Leaderboard"),
    record=(Summary, DryRun, f"{_JOBS}:PrintedJob", f"{_BOARDS}:LeaderboardRow"),
    effects=EVALUATES,
    exits=ExitCode.GATE,
)
def run(
    ctx: typer.Context,
    environment: Annotated[
        str | None,
        typer.Argument(
            metavar="ENVIRONMENT",
            help="`owner/name[@version]`, a name, a project folder, or a built wheel.",
            show_default=False,
        ),
    ] = None,
    *,
    request: EvalRequest,
    resume: ResumeOptions,
    limits: GateOptions,
    reports: ReportOptions,
    pushed: ResultOptions,
    dataset: DatasetOptions,
    job: JobOptions,
    accepted: AcceptedOptions,
) -> None:
    """Evaluate a model on an environment.

    A plain name refers to the project in this folder, `./NAME` or `./environments/NAME`, or else
    to the hub. `prime eval NAME` is short for this command. `--resume` continues an interrupted
    run, or extends a finished one with a larger `-n` or `-r`.

    \b
    Example:
      prime eval run starter/alphabet-sort -m builtin/oracle
      prime eval run ada/wordle -m gpt-4.1-mini -n 20 -r 3
      prime eval run ./my-env -m Qwen/Qwen3-0.6B -b http://localhost:8000/v1
      prime eval run --resume 1f2e3d4c
      prime eval run nightly.toml --max-cost 5
      prime eval run ada/wordle -n 1000 --shard 2/8
      prime eval run ./my-env -m gpt-4.1-mini --debug
    \b
    See also: `prime eval list`, `prime eval show`, `prime eval push`.
    """
    session = open_session(ctx)
    given = given_variables(request.env_vars, request.env_file)
    name = environment or ""
    request = replace(request, environment=name, env_vars=given.names, env_file=None)
    request = _with_config_file(request)
    if job != JobOptions():
        from prime_cli.commands.eval.job import print_job

        others = (resume, limits, reports, pushed, dataset)
        common = _common_flags(session, verbose=accepted.verbose)
        has_values = bool(given.values)
        print_job(session, request, job, has_values=has_values, common=common, others=others)
        return
    if request.debug:
        request = to_debug(request, resume)
    if request.environment.endswith(".toml"):
        from prime_cli.commands.eval.suite import run_suite

        _check_suite(request, limits, reports, dataset)
        lookup = session.lookup_context()
        run_suite(session, request, lookup, resume, pushed, given=given.values)
        return
    _check_dataset(session, dataset)
    gates = None
    if (limits, reports) != (GateOptions(), ReportOptions()) or STEP_SUMMARY in os.environ:
        from prime_cli.commands.eval.gate import apply_gates, prepare_gates

        gates = prepare_gates(session, limits, reports)
    context = session.run_context(given=given.values, verbose=accepted.verbose, debug=request.debug)
    if request.debug:
        context = replace(context, progress=session.output.spoken)
    if accepted.dry_run:
        _show_plan(session, request, context, resume)
        return
    verbose = accepted.verbose
    with _telling_failure(session, pushed.notify) as started:
        result = _evaluate(session, request, context, resume, started.append, verbose=verbose)
    _show(session, result, verbose=verbose)
    _notify(session, pushed.notify, result)
    command = resume_command(result.summary.run_id, result.plan)
    exit_if_signalled(session, result.signal, command)
    judged = gates and apply_gates(gates, session, result.folder.path, result.summary)
    _push(session, result, pushed, dataset)
    check_cap(result.summary, result.plan)
    check_errors(result.summary, result.plan)
    if judged and judged.outcomes:
        from prime_cli.evals.gate.thresholds import check_gates

        check_gates(judged.outcomes, result.summary.run_id)


def _check_dataset(session: Session, dataset: DatasetOptions) -> None:
    """Before a model is paid for, raise what would keep the results from Hugging Face."""
    if dataset.save_to_hf_hub:
        from prime_cli.commands.eval.export import check_dataset_push

        check_dataset_push(session, os.environ)
    elif dataset.hf_hub_dataset_name:
        session.output.warn("`-D` needs `-H`")


def _push(
    session: Session, result: EvalResult, pushed: ResultOptions, dataset: DatasetOptions
) -> None:
    """Share the results where they are wanted; what fails there leaves the run as it is."""
    if pushed.push:
        from prime_cli.commands.eval.push import push_at_end

        push_at_end(session, result.folder.path)
    if dataset.save_to_hf_hub:
        from prime_cli.commands.eval.export import push_as_dataset_at_end

        title = dataset.hf_hub_dataset_name
        push_as_dataset_at_end(session, result.folder.path, title, environ=os.environ)


def _telling_failure(
    session: Session, command: str | None
) -> AbstractContextManager[list[RunFolder]]:
    if not command:
        return nullcontext([])
    from prime_cli.evals.sharing.notice import notice_of_failure, telling_failure

    return telling_failure(command, notice_of_failure, session.progress)


def _notify(session: Session, command: str | None, result: EvalResult) -> None:
    if command:
        from prime_cli.evals.sharing.notice import notice_of, notify

        notify(command, notice_of(result.summary), session.progress)


def _common_flags(session: Session, *, verbose: bool) -> tuple[str, ...]:
    """Those typed here that a part on another machine has to be given too."""
    context = session.context_name
    switches = {
        "--offline": session.offline_flag is True,
        "--quiet": session.quiet,
        "--verbose": verbose,
        "--yes": session.yes,
    }
    named = ("--context", context) if context else ()
    return (*named, *(flag for flag, is_set in switches.items() if is_set))


def _check_suite(
    request: EvalRequest, limits: GateOptions, reports: ReportOptions, dataset: DatasetOptions
) -> None:
    """Raise UsageError for what applies to a single evaluation only."""
    if request.shard is not None or request.ray is not None:
        flag = "--shard" if request.shard is not None else "--ray"
        raise UsageError(
            f"`{flag}` does not apply to a suite", hint="run the evaluations in it one by one"
        )
    if (limits, reports, dataset) != (GateOptions(), ReportOptions(), DatasetOptions()):
        raise UsageError(
            "Gates, reports and `-H` do not apply to a suite",
            hint="check its runs afterwards with `prime eval gate RUN`",
        )


def _evaluate(
    session: Session,
    request: EvalRequest,
    context: RunContext,
    resume: ResumeOptions,
    on_start: OnStart,
    *,
    verbose: bool,
) -> EvalResult:
    resume.check(request)
    policy = session.run_policy(context=context)
    prepared, resumed = _prepare(policy, request, resume)
    _remember(request.model, prepared)
    if verbose:
        for label, text in prepared.plan.lines():
            session.output.say(f"{label}: {text}")
        session.output.say(f"Limits: {describe_limits(limits_folder())}")
    policy.announce_cost(prepared, resumed, verbose=verbose)
    return run_evaluation(prepared, context, resumed, on_start=on_start)


def _prepare(
    policy: "RunPolicy", request: EvalRequest, resume: ResumeOptions
) -> tuple[PreparedRun, SavedRun | None]:
    try:
        return policy.prepare(request, resume.resume, new=resume.new)
    except NotFound as error:
        # Reading the names of other tools' commands takes time.
        from prime_cli.commands.suggestions import hint_at_command

        hint_at_command(error, "eval", request.environment)
        raise


def _with_config_file(request: EvalRequest) -> EvalRequest:
    """With the environment that verifiers' own configuration names, if no other is given."""
    is_file = request.environment.endswith((".toml", ".json"))
    if not is_file and (request.environment or not request.config_args):
        return request
    from prime_cli.evals.planning.config_args import is_config_file, tasksets_in

    if is_file and is_config_file(Path(request.environment)):
        words = ("@", request.environment, *request.config_args)
        request = replace(request, environment="", config_args=words)
    if request.environment or not request.config_args:
        return request
    return replace(request, environment=next(iter(tasksets_in(request.config_args)), ""))


def _show_plan(
    session: Session, request: EvalRequest, context: RunContext, resume: ResumeOptions
) -> None:
    """Show what would be run, and the configuration of a v1 environment as its flags."""
    policy = session.run_policy(context=context, is_dry=True)
    prepared, resumed = _prepare(policy, request, resume)
    from prime_cli.evals.planning.config_args import config_flags

    flags = [] if prepared.config is None else config_flags(prepared.config)
    record = DryRun(plan=prepared.plan, config=prepared.config)
    session.output.show(record, lines=[*prepared.plan.lines(), *flags])
    policy.announce_cost(prepared, resumed, verbose=True)


def _remember(model: str | None, prepared: PreparedRun) -> None:
    """Have the names completed that were just found to mean something."""
    remember("models", [*([model] if model else []), *prepared.registry.aliases])
    if prepared.plan.environment.ref:
        remember("environments", [prepared.plan.environment.slug])


def _show(session: Session, result: EvalResult, *, verbose: bool) -> None:
    brief = session.output.mode == "table" and not verbose
    session.output.show(result.summary, lines=summary_lines(result.summary, brief=brief))
    for error in result.summary.errors if verbose else ():
        if error.traceback:
            session.output.say(f"{error.kind} error {error.type}, {error.count:,} x, the first:")
            session.output.say(error.traceback.rstrip())
    for line in tried_lines(result.folder.packages) if verbose else ():
        session.output.say(line)
