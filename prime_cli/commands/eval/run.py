"""`prime eval run`."""

import difflib
import os
from dataclasses import replace
from typing import Annotated

import typer

from prime_cli.commands.eval.gate import apply_gates, prepare_gates
from prime_cli.commands.eval.prepare_run import announce_cost, prepare_run
from prime_cli.commands.eval.push import push_at_end
from prime_cli.commands.eval.run_options import (
    PANELS,
    AcceptedOptions,
    DatasetOptions,
    GateOptions,
    PushOptions,
    ReportOptions,
    ResumeOptions,
)
from prime_cli.commands.eval.suite import run_suite
from prime_cli.commands.eval.summary import exit_if_signalled, summary_lines
from prime_cli.commands.options import (
    CONTEXT,
    LONG_OUTPUT,
    OFFLINE,
    QUIET,
    YES,
    common_options,
    open_session,
    panel_order,
)
from prime_cli.commands.trust_prompt import trust_policy_of
from prime_cli.core.completion_cache import remember
from prime_cli.core.errors import NotFound, UsageError
from prime_cli.evals.execution.context import RunContext
from prime_cli.evals.execution.run import EvalResult, run_evaluation
from prime_cli.evals.gate.thresholds import check_gates
from prime_cli.evals.planning.cost import check_cap
from prime_cli.evals.planning.parsers import given_variables
from prime_cli.evals.planning.prepare import PreparedRun
from prime_cli.evals.planning.request import EvalRequest
from prime_cli.models.gateway.limits.shared_state import describe_limits, limits_folder
from prime_cli.runs.plan import resume_command
from prime_cli.runs.verdict import check_errors
from prime_cli.session import Session


@panel_order(*PANELS)
@common_options(YES, LONG_OUTPUT, QUIET, CONTEXT, OFFLINE)
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
    pushed: PushOptions,
    dataset: DatasetOptions,
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
    \b
    See also: `prime eval list`, `prime eval show`, `prime eval push`.
    """
    session = open_session(ctx)
    given = given_variables(request.env_vars, request.env_file)
    name = environment or ""
    request = replace(request, environment=name, env_vars=given.names, env_file=None)
    if request.environment.endswith(".toml"):
        if (limits, reports, dataset) != (GateOptions(), ReportOptions(), DatasetOptions()):
            raise UsageError(
                "Gates, reports and `-H` do not apply to a suite",
                hint="check its runs afterwards with `prime eval gate RUN`",
            )
        lookup = session.lookup_context(trust_policy_of(session))
        run_suite(session, request, lookup, resume, push=pushed.push, given=given.values)
        return
    if dataset.save_to_hf_hub:
        from prime_cli.commands.eval.export import check_dataset_push

        check_dataset_push(session, os.environ)
    elif dataset.hf_hub_dataset_name:
        session.output.warn("`-D` needs `-H`")
    gates = prepare_gates(session, limits, reports)
    context = session.run_context(given=given.values)
    result = _evaluate(session, request, context, resume, verbose=accepted.verbose)
    _show(session, result, verbose=accepted.verbose)
    judgement = apply_gates(gates, session, result.folder.path, result.summary)
    if pushed.push:
        push_at_end(session, result.folder.path)
    if dataset.save_to_hf_hub:
        from prime_cli.commands.eval.export import push_as_dataset_at_end

        title = dataset.hf_hub_dataset_name
        push_as_dataset_at_end(session, result.folder.path, title, environ=os.environ)
    check_cap(result.summary, result.plan)
    check_errors(result.summary, result.plan)
    check_gates(judgement.outcomes, result.summary.run_id)


def _evaluate(
    session: Session,
    request: EvalRequest,
    context: RunContext,
    resume: ResumeOptions,
    *,
    verbose: bool,
) -> EvalResult:
    lookup = session.lookup_context(trust_policy_of(session))
    try:
        prepared, resumed = prepare_run(session, request, lookup, resume)
    except NotFound as error:
        raise _perhaps_a_command(error, request.environment) from error
    _remember(request.model, prepared)
    if verbose:
        for label, text in prepared.plan.lines():
            session.output.say(f"{label}: {text}")
        session.output.say(f"Limits: {describe_limits(limits_folder())}")
    announce_cost(session, prepared, resumed, lookup.cwd, verbose=verbose)
    return run_evaluation(prepared, context, resumed)


def _remember(model: str | None, prepared: PreparedRun) -> None:
    """Have the names completed that were just found to mean something."""
    remember("models", [*([model] if model else []), *prepared.registry.aliases])
    if prepared.plan.environment.ref:
        remember("environments", [prepared.plan.environment.slug])


def _perhaps_a_command(error: NotFound, word: str) -> NotFound:
    """`prime eval lst` looks for an environment of that name; a command may have been meant."""
    meant = difflib.get_close_matches(word, ("list", "show", "run"), n=1)
    return (
        NotFound(error.message, hint=f"did you mean `prime eval {meant[0]}`?") if meant else error
    )


def _show(session: Session, result: EvalResult, *, verbose: bool) -> None:
    session.output.show(result.summary, lines=summary_lines(result.summary))
    for error in result.summary.errors if verbose else ():
        if error.traceback:
            session.output.say(f"{error.kind} error {error.type}, {error.count} x, the first:")
            session.output.say(error.traceback.rstrip())
    command = resume_command(result.summary.run_id, result.plan)
    exit_if_signalled(session, result.signal, command)
