"""One evaluation from plan to summary: interpreter, worker, journal, results."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from prime_cli.core.errors import StorageFailed
from prime_cli.core.progress import Progress
from prime_cli.evals.again.origin import Origin
from prime_cli.evals.again.packages import saved_lock
from prime_cli.evals.asked import Asked
from prime_cli.evals.caching import open_cache
from prime_cli.evals.caps import budget_of, partial_at_cap, require_room
from prime_cli.evals.declared import declared_keys
from prime_cli.evals.drive import Drive, Outcome
from prime_cli.evals.folder import RunFolder, new_run_folder, runs_folder, writing
from prime_cli.evals.interpreter import choose_interpreter
from prime_cli.evals.journal import Journal
from prime_cli.evals.known_secrets import secrets_of
from prime_cli.evals.manifest import CAPPED, FAILED, FINISHED, INTERRUPTED
from prime_cli.evals.plan import EvalPlan
from prime_cli.evals.prepare import Prepared
from prime_cli.evals.record import RunRecord, facts_of
from prime_cli.evals.resuming.command import resume_command
from prime_cli.evals.resuming.earlier import Earlier, read_earlier
from prime_cli.evals.resuming.lives import Lives
from prime_cli.evals.resuming.recall import manifest_of
from prime_cli.evals.resuming.sameness import is_complete, require_same, require_same_packages
from prime_cli.evals.sandboxing import sandbox_for
from prime_cli.evals.saved import SavedRun
from prime_cli.evals.scrub import Scrubber
from prime_cli.evals.setup import Setup, Surroundings
from prime_cli.evals.spending import sum_of
from prime_cli.evals.summary import Summary
from prime_cli.evals.worker import passed_keys
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.limits.place import limits_folder
from prime_cli.models.gateway.replay import Recording
from prime_cli.models.gateway.settings import GatewaySettings
from prime_cli.models.price_book import PriceBook, load_prices
from prime_cli.models.registry import Registry
from prime_cli.runtime.interpreters import Interpreter
from prime_cli.runtime.sandbox import Sandbox

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
    prepared: Prepared,
    around: Surroundings,
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
    plan, subject = prepared.plan, prepared.subject
    before = manifest_of(resumed) if resumed is not None else None
    if before is not None:
        require_same(before, plan)
        if resumed is not None and is_complete(before, plan):
            around.progress.say(f"Nothing is left to run: all of {before.run_id} has scores")
            return EvalResult(resumed.folder, resumed.summary(), plan)
    sandbox = sandbox_for(plan)
    declared = declared_keys(subject.package.path)
    passed = passed_keys(plan, declared, around.environ, around.progress)
    facts = before.interpreter if before is not None else None
    pinned = None
    if before is not None and resumed is not None and before.rerun_of:
        pinned = saved_lock(resumed.folder, facts)
    with around.turn:
        interpreter = choose_interpreter(
            plan, subject, around, sandbox, before=facts, pinned=pinned
        )
    return run_in(
        interpreter,
        plan,
        prepared.endpoint,
        prepared.registry,
        around,
        passed=passed,
        sandbox=sandbox,
        asked=prepared.asked,
        resumed=resumed.folder if resumed is not None else None,
        prices=prepared.prices,
        recording=prepared.recording,
        begun=begun,
    )


def run_in(
    interpreter: Interpreter,
    plan: EvalPlan,
    endpoint: Endpoint,
    registry: Registry,
    around: Surroundings,
    *,
    passed: Mapping[str, str],
    sandbox: Sandbox | None = None,
    asked: Asked | None = None,
    resumed: RunFolder | None = None,
    prices: PriceBook | None = None,
    recording: Recording | None = None,
    origin: Origin | None = None,
    begun: Begun | None = None,
) -> EvalResult:
    """The same in an interpreter that has the environment; `passed` are variables it may read."""
    prices = prices or load_prices()
    budget = around.budget or budget_of(plan)
    parent = runs_folder(plan.environment.name, plan.model, around.cwd)
    scrub = Scrubber(secrets_of(endpoint, around.environ, passed, registry))
    cache = open_cache(scrub) if plan.cache else None
    folder = resumed or new_run_folder(parent)
    setup = Setup(
        run_id=folder.run_id,
        plan=plan,
        interpreter=interpreter,
        endpoint=endpoint,
        registry=registry,
        passed=passed,
        environ=around.environ,
        scrub=scrub,
        log=folder.log,
        gateway=GatewaySettings(
            call_seconds=plan.deadlines.call_seconds,
            limits_folder=limits_folder(),
            price_of=prices.price_of,
            budget=budget,
            cache=cache,
            walled=sandbox is not None,
        ),
        prices=prices,
        offline=around.offline,
        sandbox=sandbox,
        switchboard=around.switchboard,
        recording=recording,
        origin=origin,
        saved=folder.saved if origin is not None and origin.is_direct else None,
    )
    with writing(folder):
        # Read by who holds the lock alone: another process may have finished the run meanwhile.
        earlier = Earlier() if resumed is None else read_earlier(folder)
        if earlier.manifest is not None:
            require_same(earlier.manifest, plan)
            require_same_packages(earlier.manifest, facts_of(interpreter))
        if budget is not None and around.budget is None:
            spent = sum_of(earlier.spent.values())
            require_room(budget, spent, folder.run_id, plan, around.progress)
        record = RunRecord(setup, folder, earlier, asked)
        if begun is not None:
            begun(folder)
        if resumed is None and origin is not None and origin.lay_out is not None:
            origin.lay_out(folder, earlier.tally, setup.scrub)
        result = _Run(setup, folder, earlier, record).execute(around.progress)
    if cache is not None:
        cache.prune()
        if cache.trouble is not None:
            around.progress.warn(f"Not all answers could be kept: {cache.trouble}")
    return result


@dataclass
class _Run:
    """One session of a run while it is going."""

    setup: Setup
    folder: RunFolder
    earlier: Earlier
    record: RunRecord

    def execute(self, progress: Progress) -> EvalResult:
        """Run what is owed, and write how it ended."""
        self.record.open()
        with Journal(self.folder.journal, self.setup.scrub) as journal:
            drive = self._drive(journal, progress)
            try:
                with progress.task(self._title(), unit="rollouts") as task:
                    asyncio.run(drive.run(task))
            except BaseException as failure:
                with suppress(StorageFailed):  # the first failure is the one to tell
                    self._fail(drive.outcome, failure)
                self._say_what_is_kept(progress)
                raise
        summary = self._close(drive.outcome)
        return EvalResult(self.folder, summary, self.setup.plan, drive.outcome.signal)

    def _close(self, outcome: Outcome) -> Summary:
        if outcome.signal is not None:
            return self.record.close(outcome, INTERRUPTED)
        planned = outcome.start.planned if outcome.start else None
        if outcome.capped is None or self.earlier.tally.finished == planned:
            return self.record.close(outcome, FINISHED)
        stopped = partial_at_cap(outcome.capped, self.setup.run_id, self.setup.plan)
        return self.record.close(outcome, CAPPED, stopped)

    def _drive(self, journal: Journal, progress: Progress) -> Drive:
        before, plan, origin = self.earlier.manifest, self.setup.plan, self.setup.origin
        lives = Lives(
            self.earlier.tally,
            rollouts=plan.rollouts_per_example,
            concurrency=plan.concurrency,
            unit=before.unit if before else None,
            left_out=origin.left_out | origin.kept if origin is not None else (),
        )
        fingerprint = before.fingerprint if before else None
        prefix = (before.examples or 0) if before else 0
        if before is None and origin is not None and origin.fingerprint is not None:
            prefix, fingerprint = origin.examples, origin.fingerprint
        orders = lives.first(prefix=prefix, fingerprint=fingerprint)
        return Drive(
            self.setup, journal, self.earlier.tally, progress, self.record.begin, lives, orders
        )

    def _fail(self, outcome: Outcome, failure: BaseException) -> None:
        if self.earlier.manifest is not None and outcome.start is None:
            self.record.withdraw()
        else:
            self.record.close(outcome, FAILED, failure)

    def _say_what_is_kept(self, progress: Progress) -> None:
        finished = self.earlier.tally.finished
        if finished:
            command = resume_command(self.setup.run_id, self.setup.plan)
            progress.say(f"What was finished, {finished} rollouts, is kept: go on with `{command}`")

    def _title(self) -> str:
        return f"{self.setup.plan.environment.name} with {self.setup.plan.model}"
