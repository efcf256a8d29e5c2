"""`prime eval run`."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from prime_cli.commands.eval.gate import apply_gates, prepare_gates
from prime_cli.commands.eval.push import push_at_end
from prime_cli.commands.eval.run_options import (
    PANELS,
    AcceptedOptions,
    DatasetOptions,
    GateOptions,
    JobOptions,
    ReportOptions,
    ResultOptions,
    ResumeOptions,
    to_debug,
)
from prime_cli.commands.eval.suite import run_suite
from prime_cli.commands.eval.summary import exit_if_signalled, summary_lines, tried_lines
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
from prime_cli.core.completion_cache import remember
from prime_cli.core.errors import NotFound, UsageError
from prime_cli.core.formatting import format_cap, format_size, format_usd
from prime_cli.core.http import is_loopback
from prime_cli.evals.execution.run import EvalResult, run_evaluation
from prime_cli.evals.execution.setup import RunContext
from prime_cli.evals.gate.thresholds import check_gates
from prime_cli.evals.planning.cost import Estimate, budget_of, check_cap, estimate
from prime_cli.evals.planning.locate import LookupContext
from prime_cli.evals.planning.parsers import given_variables
from prime_cli.evals.planning.prepare import PreparedRun, prepare
from prime_cli.evals.planning.request import EvalRequest
from prime_cli.evals.resume.candidates import (
    interrupted_run,
    is_complete,
    newest_run,
    request_of_run,
    resumable_manifest,
    scored_of,
)
from prime_cli.models.gateway.limits.shared_state import describe_limits, limits_folder
from prime_cli.models.price_book import load_prices
from prime_cli.runs.plan import resume_command
from prime_cli.runs.saved_run import SavedRun, check_errors
from prime_cli.runs.spending import spend_of
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
        _check_suite(request, limits, reports, dataset)
        lookup = session.lookup_context()
        run_suite(session, request, lookup, resume, push=pushed.push, given=given.values)
        return
    _check_dataset(session, dataset)
    gates = prepare_gates(session, limits, reports)
    context = replace(session.run_context(given=given.values), verbose=accepted.verbose)
    if request.debug:
        context = replace(context, debug=True, progress=session.output.spoken)
    result = _evaluate(session, request, context, resume, verbose=accepted.verbose)
    _show(session, result, verbose=accepted.verbose)
    judgement = apply_gates(gates, session, result.folder.path, result.summary)
    _push(session, result, pushed, dataset)
    check_cap(result.summary, result.plan)
    check_errors(result.summary, result.plan)
    if judgement.outcomes:
        check_gates(judgement.outcomes, result.summary.run_id)


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
        push_at_end(session, result.folder.path)
    if dataset.save_to_hf_hub:
        from prime_cli.commands.eval.export import push_as_dataset_at_end

        title = dataset.hf_hub_dataset_name
        push_as_dataset_at_end(session, result.folder.path, title, environ=os.environ)


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
    *,
    verbose: bool,
) -> EvalResult:
    lookup = session.lookup_context()
    try:
        prepared, resumed = prepare_run(session, request, lookup, resume)
    except NotFound as error:
        # Reading the names of other tools' commands takes time.
        from prime_cli.commands.suggestions import hint_at_command

        hint_at_command(error, "eval", request.environment)
        raise
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


def _show(session: Session, result: EvalResult, *, verbose: bool) -> None:
    session.output.show(result.summary, lines=summary_lines(result.summary))
    for error in result.summary.errors if verbose else ():
        if error.traceback:
            session.output.say(f"{error.kind} error {error.type}, {error.count:,} x, the first:")
            session.output.say(error.traceback.rstrip())
    for line in tried_lines(result.folder.packages) if verbose else ():
        session.output.say(line)
    command = resume_command(result.summary.run_id, result.plan)
    exit_if_signalled(session, result.signal, command)


def prepare_run(
    session: Session, request: EvalRequest, lookup: LookupContext, options: ResumeOptions
) -> tuple[PreparedRun, SavedRun | None]:
    """What to run, and the run to resume, if any."""
    options.check(request)
    resume = options.resume
    if resume:
        return _prepare_named(session, request, lookup, resume)
    if not request.environment:
        raise UsageError("`prime eval run` needs ENVIRONMENT", hint=_what_to_name(lookup))
    prepared = prepare(request, lookup, os.environ, session.progress)
    if options.new:
        return prepared, None
    if resume is None:
        return prepared, _offered(session, prepared, lookup)
    return _find(session, request, prepared, lookup)


def _what_to_name(lookup: LookupContext) -> str:
    from prime_cli.runs.listing import list_runs
    from prime_cli.runs.manifest import CAPPED, INTERRUPTED, STOPPED

    stopped = [run for run in list_runs(lookup.cwd) if run.status in (CAPPED, INTERRUPTED, STOPPED)]
    if not stopped:
        return "pass one, such as `starter/alphabet-sort`, or continue a run with `--resume RUN`"
    newest = f"prime eval run --resume {stopped[0].run_id}"
    return f"pass one, or continue the newest run: `{newest}`"


def _prepare_named(
    session: Session, request: EvalRequest, lookup: LookupContext, name: str
) -> tuple[PreparedRun, SavedRun]:
    from prime_cli.runs.listing import RunRoots, find_run

    outputs = request.output_dir
    run = find_run(name, lookup.cwd, RunRoots(Path(outputs) if outputs else None))
    manifest = resumable_manifest(run)
    request = request_of_run(request, manifest)
    before = manifest.plan.environment
    prepared = prepare(request, lookup, os.environ, session.progress, before=before)
    _say_what_goes_on(session, run, prepared)
    return prepared, run


def _say_what_goes_on(session: Session, run: SavedRun, prepared: PreparedRun) -> None:
    manifest, plan = resumable_manifest(run), prepared.plan
    retry = prepared.retry_errors
    if is_complete(run, plan, retry_errors=retry):
        return
    verb, size = "Resuming", ""
    if is_complete(run, manifest.plan, retry_errors=retry):
        examples = "all" if plan.num_examples < 0 else plan.num_examples
        verb, size = "Growing", f", {format_size(examples, plan.rollouts_per_example)} wanted"
    session.output.say(f"{verb} {run.folder.run_id} ({_done(run)} done{size})")


def _find(
    session: Session, request: EvalRequest, prepared: PreparedRun, lookup: LookupContext
) -> tuple[PreparedRun, SavedRun | None]:
    run = newest_run(prepared.plan, lookup.cwd, retry_errors=request.retry_errors)
    if run is None:
        session.output.say("No run of this plan to resume: starting a new one")
        return prepared, None
    _say_what_goes_on(session, run, prepared)
    before = resumable_manifest(run).plan.environment
    if before.ref and before.sha256 != prepared.plan.environment.sha256:
        prepared = prepare(request, lookup, os.environ, session.progress, before=before)
    return prepared, run


def _offered(session: Session, prepared: PreparedRun, lookup: LookupContext) -> SavedRun | None:
    """The unfinished run of this very plan, if the user wants it: it is never resumed unasked."""
    run = interrupted_run(prepared.plan, lookup.cwd)
    if run is None or session.quiet:
        return None
    name = run.folder.run_id
    if session.output.is_interactive:
        resumed = session.output.ask(
            f"Run {name} of the same plan is unfinished: resume it ({_done(run)} done)?",
            flag="--resume",
        )
        return run if resumed else None
    session.output.hint(
        f"{name} of the same plan is unfinished ({_done(run)} done): `--resume {name}` resumes "
        "it, `--new` hides this notice"
    )
    return None


def _done(run: SavedRun) -> str:
    scored, planned = scored_of(run)
    return f"{scored:,} of {planned:,}"


def announce_cost(
    session: Session,
    prepared: PreparedRun,
    resumed: SavedRun | None,
    cwd: Path,
    *,
    verbose: bool,
) -> None:
    """Say the estimate; ask on a terminal where it is above `--max-cost`.

    Built-in models cost nothing, and of servers on this machine nobody knows what they cost:
    those are told with the plan alone. Raises Declined when the user would rather not start.
    """
    endpoint = prepared.endpoint
    if endpoint.builtin or session.quiet:
        return
    price = (prepared.prices or load_prices()).price_of(endpoint)
    if price is None:
        if verbose or not is_loopback(endpoint.url):
            session.output.say(f"Cost: unknown, without a price for `{endpoint.model}`")
        return
    if price.source.startswith("stated by"):
        costs = f"{format_usd(price.input)} and {format_usd(price.output)}"
        session.output.say(f"Per million tokens, input and output: {costs}, {price.source}")
    done = 0 if resumed is None else scored_of(resumed)[0]
    expected = estimate(prepared.plan, price, cwd, done=done)
    session.output.say(f"Cost: {expected.words()}")
    _check_cap(session, prepared, resumed, expected)


def _check_cap(
    session: Session,
    prepared: PreparedRun,
    resumed: SavedRun | None,
    expected: Estimate,
) -> None:
    budget = budget_of(prepared.plan)
    cap = None if budget is None else budget.max_cost
    if cap is None or expected.cost is None:
        return
    spent = 0.0
    if resumed is not None and resumed.manifest is not None:
        spent = spend_of(resumed.manifest.usage).known_usd
    if spent + expected.cost <= cap:
        return
    problem = f"exceeds the remaining {format_cap(cap)}"
    if not session.output.is_interactive:
        session.output.hint(f"this {problem}: the run will stop there; continue it with `--resume`")
    else:
        session.output.confirm(
            f"This {problem}. Start, and stop there?",
            otherwise="The run was not started",
            hint="raise `--max-cost`, or use fewer examples: `-n`",
        )
