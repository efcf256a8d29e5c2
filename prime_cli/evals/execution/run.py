"""One evaluation from plan to summary: interpreter, worker, journal, results."""

from collections.abc import Callable
from dataclasses import dataclass

from prime_cli.core.paths import prime_home
from prime_cli.evals.execution.earlier_sessions import (
    EarlierSessions,
    read_earlier_sessions,
    saved_lock,
)
from prime_cli.evals.execution.interpreter import choose_interpreter
from prime_cli.evals.execution.run_record import RunRecord, facts_of
from prime_cli.evals.execution.session import SessionRunner
from prime_cli.evals.execution.setup import (
    RunContext,
    RunSetup,
    WorkerAccess,
    grant_access,
    namespace_for,
)
from prime_cli.evals.planning.cost import budget_of, require_room
from prime_cli.evals.planning.prepare import PreparedRun
from prime_cli.evals.resume.candidates import is_complete, resumable_manifest
from prime_cli.evals.resume.compatibility import require_same, require_same_packages
from prime_cli.models.gateway.limits.shared_state import limits_folder
from prime_cli.models.gateway.response_cache import ResponseStore
from prime_cli.models.gateway.settings import GatewaySettings
from prime_cli.models.price_book import load_prices
from prime_cli.models.prices import Budget
from prime_cli.runs.access_requests import STAND_IN
from prime_cli.runs.folder import RunFolder, new_run_folder, runs_folder, writing
from prime_cli.runs.plan import EvalPlan
from prime_cli.runs.saved_run import SavedRun
from prime_cli.runs.scrubber import Scrubber, secrets_of
from prime_cli.runs.spending import sum_of
from prime_cli.runs.summary import Summary
from prime_cli.runtime.interpreters import Interpreter

Begun = Callable[[RunFolder], None]
"""Told of the folder of a run that begins or goes on, which it alone may write by then."""


@dataclass(frozen=True)
class EvalResult:
    """A run that came to an end; `signal` is the number of the one that ended it early."""

    folder: RunFolder
    summary: Summary
    plan: EvalPlan
    signal: int | None = None


def run_evaluation(
    prepared: PreparedRun,
    context: RunContext,
    resumed: SavedRun | None = None,
    *,
    begun: Begun | None = None,
) -> EvalResult:
    """Run what is prepared; a finished rollout is on disk before the next one is counted.

    A run that is `resumed` goes on with what has no score yet, and ends as if it had never been
    interrupted. Raises Conflict where its scores could change or another process is at it,
    LoadFailed or EnvironmentFailed when the environment cannot be run, ResolveFailed when no
    interpreter fits, StorageFailed. What was finished by then is kept, and its results written.
    """
    plan = prepared.plan
    before = resumable_manifest(resumed) if resumed is not None else None
    if before is not None:
        require_same(before, plan)
        if resumed is not None and is_complete(resumed, plan, retry_errors=prepared.retry_errors):
            summary = resumed.summary()
            context.progress.say(f"Nothing left to run: {_what_is_there(summary)}")
            return EvalResult(resumed.folder, summary, plan)
    access = grant_access(prepared, context)
    facts = before.interpreter if before is not None else None
    pinned = None
    if before is not None and resumed is not None and before.rerun_of:
        pinned = saved_lock(resumed.folder, facts)
    with context.turn:
        interpreter = choose_interpreter(
            plan,
            prepared.subject,
            context,
            access.sandbox,
            before=facts,
            pinned=pinned,
            variables=access.variables,
        )
    folder = resumed.folder if resumed is not None else None
    return run_with(prepared, interpreter, access, context, resumed=folder, begun=begun)


def _what_is_there(summary: Summary) -> str:
    if not summary.counts.errored:
        return f"all of {summary.run_id} has scores"
    count = summary.counts.errored
    noun = (
        "rollout ended in an error, which stays"
        if count == 1
        else "rollouts ended in an error, which stay"
    )
    return f"{count} {noun} as answered; `--retry-errors` asks again"


def run_with(
    prepared: PreparedRun,
    interpreter: Interpreter,
    access: WorkerAccess,
    context: RunContext,
    *,
    resumed: RunFolder | None = None,
    begun: Begun | None = None,
) -> EvalResult:
    """The same in an interpreter that has the environment."""
    plan, origin = prepared.plan, prepared.origin
    budget = context.budget or budget_of(plan)
    setup = _set_up(prepared, interpreter, access, context, budget, resumed)
    folder = setup.folder
    with writing(folder):
        # Read by who holds the lock alone: another process may have finished the run meanwhile.
        earlier = EarlierSessions() if resumed is None else read_earlier_sessions(folder)
        if earlier.manifest is not None:
            require_same(earlier.manifest, plan)
            require_same_packages(earlier.manifest, facts_of(interpreter))
        if budget is not None and context.budget is None:
            spent = sum_of(earlier.spent.values())
            require_room(budget, spent, folder.run_id, plan, context.progress)
        record = RunRecord(setup, earlier)
        if begun is not None:
            begun(folder)
        if resumed is None and origin is not None and origin.lay_out is not None:
            origin.lay_out(folder, earlier.tally, setup.scrub)
        summary, signal = SessionRunner(setup, earlier, record).execute(context.progress)
    cache = setup.gateway.cache
    if cache is not None:
        cache.prune()
        if cache.trouble is not None:
            context.progress.warn(f"Not all responses could be cached: {cache.trouble}")
    return EvalResult(folder, summary, plan, signal)


def _set_up(
    prepared: PreparedRun,
    interpreter: Interpreter,
    access: WorkerAccess,
    context: RunContext,
    budget: Budget | None,
    resumed: RunFolder | None,
) -> RunSetup:
    """The last that is settled before the first process starts, the run's folder among it."""
    plan = prepared.plan
    prices = prepared.prices or load_prices()
    scrub = Scrubber(
        secrets_of(prepared.endpoint, context.environ, access.passed, prepared.registry)
    )
    cache = open_cache(scrub) if plan.cache else None
    parent = runs_folder(plan.environment.name, plan.model, context.cwd)
    return RunSetup(
        prepared=prepared,
        context=context,
        folder=resumed or new_run_folder(parent),
        interpreter=interpreter,
        access=access,
        gateway=GatewaySettings(
            call_seconds=plan.deadlines.call_seconds,
            limits_folder=limits_folder(),
            price_of=prices.price_of,
            budget=budget,
            cache=cache,
            sandboxed=access.sandbox is not None,
            fail_fast=plan.fail_fast,
            also_accepted=access.passed.get(STAND_IN),
        ),
        prices=prices,
        scrub=scrub,
        namespace=namespace_for(plan, context.progress),
    )


def open_cache(scrub: Scrubber) -> ResponseStore:
    """`cache/responses` in PRIME_HOME; raises StorageFailed where it cannot be made."""
    store = ResponseStore(prime_home() / "cache" / "responses", scrub)
    store.open()
    return store
