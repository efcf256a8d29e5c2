"""Before `prime eval run` starts: which run it resumes, and what it will cost."""

import os
from pathlib import Path

from prime_cli.commands.eval.run_options import ResumeOptions
from prime_cli.core.errors import UsageError
from prime_cli.core.http import is_loopback
from prime_cli.evals.planning.cost import Estimate, estimate
from prime_cli.evals.planning.locate import LookupContext
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
from prime_cli.models.price_book import load_prices
from prime_cli.models.prices import format_usd
from prime_cli.runs.saved_run import SavedRun
from prime_cli.runs.spending import spend_of
from prime_cli.session import Session


def prepare_run(
    session: Session, request: EvalRequest, lookup: LookupContext, options: ResumeOptions
) -> tuple[PreparedRun, SavedRun | None]:
    """What is to be run, and the run that it goes on with, if any."""
    check_resume(request, options)
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


def check_resume(request: EvalRequest, options: ResumeOptions) -> None:
    """Raise UsageError for options that exclude each other, and for what only a resume can do."""
    if options.resume is not None and options.new:
        raise UsageError("`--resume` and `--new` are mutually exclusive")
    if options.resume is None and request.retry_errors:
        raise UsageError(
            "`--retry-errors` needs an existing run",
            hint="name it: `prime eval run --resume RUN --retry-errors`",
        )


def _what_to_name(lookup: LookupContext) -> str:
    from prime_cli.runs.listing import list_runs
    from prime_cli.runs.manifest import CAPPED, INTERRUPTED, STOPPED

    stopped = [run for run in list_runs(lookup.cwd) if run.status in (CAPPED, INTERRUPTED, STOPPED)]
    if not stopped:
        return "or continue a run: `--resume RUN`"
    return f"or continue the newest run: `prime eval run --resume {stopped[0].run_id}`"


def _prepare_named(
    session: Session, request: EvalRequest, lookup: LookupContext, name: str
) -> tuple[PreparedRun, SavedRun]:
    from prime_cli.runs.listing import find_run

    run = find_run(name, lookup.cwd)
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
        verb, size = "Growing", f", {examples} x {plan.rollouts_per_example} wanted"
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
    return f"{scored} of {planned}"


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
            session.output.say(f"Cost: unknown, without a price for `{endpoint.model}` costs")
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
    cap = prepared.plan.max_cost
    if cap is None or expected.cost is None:
        return
    spent = 0.0
    if resumed is not None and resumed.manifest is not None:
        spent = spend_of(resumed.manifest.usage).known_usd
    if spent + expected.cost <= cap:
        return
    told = f"which exceeds the remaining {format_usd(cap)}"
    if not session.output.is_interactive:
        session.output.hint(f"{told}: the run will stop there; continue it with `--resume`")
    else:
        session.output.confirm(
            f"{told.capitalize()}. Start, and stop there?",
            otherwise="The run was not started",
            hint="raise `--max-cost`, or use fewer examples: `-n`",
        )
