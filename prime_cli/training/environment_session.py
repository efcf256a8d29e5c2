"""The rollouts of one environment in a session: its gateway, its workers and its journal."""

import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import msgspec

from prime_cli.core.errors import Conflict, PrimeError
from prime_cli.core.progress import Progress
from prime_cli.evals.execution.progress_line import announce_agents, say_of_worker
from prime_cli.evals.execution.recorder import row_of
from prime_cli.evals.execution.run_record import RunRecord, SessionOutcome
from prime_cli.evals.execution.session_setup import RunSetup, spec_of, worker_of
from prime_cli.evals.execution.worker_failures import failure_of
from prime_cli.models.gateway.holds import CallHold
from prime_cli.models.gateway.server import Gateway
from prime_cli.models.prices import Charges, Spend, add_charges
from prime_cli.runs.folder import Journal
from prime_cli.runs.manifest import RunManifest
from prime_cli.runs.rows import CANCELLED
from prime_cli.runs.spending import without
from prime_cli.runs.tally import Tally
from prime_cli.runtime.launch import Worker
from prime_cli.runtime.protocol import (
    AskedVariable,
    Caution,
    Event,
    HostConnected,
    LogMessage,
    Rollout,
    RolloutError,
    Start,
    WorkerEnd,
)
from prime_cli.training.demand import Demand
from prime_cli.training.dump import DumpCounts, scrubbed, training_rollout
from prime_cli.training.mixture import ALONE, Place
from prime_cli.training.policies import Policies, Policy, RolloutKey
from prime_cli.training.recording import TokenRecorder
from prime_cli.training.trainer_events import StepMetrics
from prime_cli.wire.rollouts import LoadedEnvironment, RolloutAsk, TrainingRollout

Choose = Callable[[Start], list[int] | None]
"""Chooses the examples to train on once an environment is loaded, None for all."""


@dataclass(frozen=True)
class EnvironmentRollouts:
    """Where an environment's rollouts are made and kept, and what is known of earlier ones.

    `name` is what it is called among several, `numbers` are those of the next rollouts by example.
    The examples must be those of `before`, where a session goes on with one.
    """

    name: str
    setup: RunSetup
    journal: Journal
    record: RunRecord
    tally: Tally
    place: Place = ALONE
    numbers: Mapping[int, int] = field(default_factory=dict)
    before: RunManifest | None = None


@dataclass(frozen=True)
class _Request:
    """The ask that a rollout belongs to, and the number of the first rollout of that ask."""

    ask: RolloutAsk
    first: int


_NO_ASK = RolloutAsk(example=0)


class EnvironmentSession:
    """Keeps each finished rollout before it is handed out."""

    def __init__(
        self,
        rollouts: EnvironmentRollouts,
        steps: StepMetrics,
        choose: Choose,
        *,
        workers: int,
        has_policy: bool,
    ) -> None:
        setup = rollouts.setup
        sampling = setup.plan.sampling
        self.setup = setup
        self.name = rollouts.name
        self.policies = Policies(Policy(sampling=sampling) if has_policy else None, sampling)
        self._requests: dict[RolloutKey, _Request] = {}
        self.recorder = TokenRecorder(
            self.policies,
            setup.prepared.endpoint,
            expects=self._requests.__contains__,
            place=rollouts.place,
        )
        self.counts = DumpCounts()
        self.outcome = SessionOutcome()
        self.record = rollouts.record
        self.start: Start | None = None
        self.chosen: list[int] | None = None
        self._journal, self.tally, self._place = rollouts.journal, rollouts.tally, rollouts.place
        self._steps, self._choose, self._before = steps, choose, rollouts.before
        self._journaled: Charges = {}
        self._progress: Progress = setup.context.progress
        self._withheld = self.record.withheld(self._progress)
        self._gateway: Gateway
        self._said_what_to_serve = False
        # The workers share what may run at a time.
        self._workers = workers
        self._concurrency = math.ceil(setup.plan.concurrency / workers)
        self.demand: Demand[TrainingRollout] = Demand(
            self._make_worker,
            self,
            self._progress,
            workers=workers,
            concurrency=self._concurrency,
            numbers=rollouts.numbers,
        )

    @asynccontextmanager
    async def gateway(self, ended: Callable[[], None]) -> AsyncIterator[None]:
        """Inside, workers can call models; `ended` is called in any thread once none can."""
        setup = self.setup
        settings = replace(
            setup.gateway,
            tap=self.recorder,
            policy_of=self.policies.endpoint_of,
            fail_fast=False,
        )
        async with Gateway(
            setup.prepared.endpoint,
            setup.prepared.registry,
            run_id=setup.run_id,
            environ=setup.context.environ,
            offline=setup.context.options.offline,
            settings=settings,
            say=self._progress.say,
        ) as self._gateway:
            hold = self._gateway.hold
            hold.on_close(ended)
            try:
                yield
            finally:
                hold.forget(ended)
                spent = self._gateway.ledger.totals()
                self.outcome.spent = spent
                self.outcome.served = self._gateway.ledger.served
                self.outcome.unjournaled = without(spent, self._journaled)

    def describe(self) -> LoadedEnvironment:
        """What rollouts of it can be asked for, by its own numbers."""
        plan, start = self.setup.plan, self.start
        assert start is not None  # noqa: S101 - asked only once all environments are loaded
        return LoadedEnvironment(
            name=self.name,
            ref=plan.environment.title,
            sha256=plan.environment.sha256,
            examples=start.examples,
            numbers=self.chosen or start.numbers,
            unit=start.unit,
            split=plan.option("split"),
            fingerprint=start.fingerprint,
            family=start.family,
            harness=start.harness,
            max_turns=start.max_turns,
        )

    @property
    def hold(self) -> CallHold:
        """Whether models can still be called, once the gateway was there."""
        return self._gateway.hold

    @property
    def running(self) -> int:
        """How many rollouts have called a model and not ended."""
        return len(self._gateway.ledger.open)

    @property
    def spent(self) -> Spend:
        """What its rollouts have spent, in earlier sessions too."""
        return self.record.spent_before + self._gateway.ledger.spent()

    async def steer(self, concurrency: int | None = None, *, is_held: bool) -> None:
        """Have so many rollouts run at a time (None: as before), or none while held."""
        each = None if concurrency is None else math.ceil(concurrency / self._workers)
        self._concurrency = each or self._concurrency
        if is_held:
            self.hold.pause()
        else:
            self.hold.resume()
        await self.demand.steer(each, is_held=is_held)

    def _make_worker(self) -> Worker:
        setup = self.setup
        spec, walls = spec_of(setup, self._gateway)
        spec = msgspec.structs.replace(spec, follow=True, concurrency=self._concurrency)
        return worker_of(setup, spec, walls)

    # --- What becomes of rollouts ---

    def keep_cancelled(self, example: int, rollout: int, attempt: int, by: str) -> TrainingRollout:
        """The same for a rollout that the user `by` has cancelled: it has neither score nor error
        of its own.
        """
        error = RolloutError(kind="environment", type="Cancelled", message=f"Cancelled by {by}")
        event = Rollout(example_id=example, rollout=rollout, attempt=attempt, error=error)
        return self.keep(event, kind=CANCELLED)

    def keep(self, event: Rollout, kind: str | None = None) -> TrainingRollout:
        """Journal a finished rollout, and return what its trainer gets; `kind` is the class of its
        error, where that is not the worker's.
        """
        pair = event.example_id, event.rollout
        ledger = self._gateway.ledger
        charges, apart = ledger.settle(*pair), ledger.settle_apart()
        row = row_of(event, charges, apart)
        if row.error is not None and kind is not None:
            row.error = msgspec.structs.replace(row.error, kind=kind)
        turns = self.recorder.take(*pair, row.attempt)
        found = self._forget(pair)
        ask = _NO_ASK if found is None else found.ask
        self._withheld.record(event)
        if ask.tag:
            row = msgspec.structs.replace(row, state={**row.state, **ask.tag})
        self._journal.append(row)
        self.tally.add(row)
        add_charges(self._journaled, charges)
        add_charges(self._journaled, apart)
        line = training_rollout(row, turns, with_messages=ask.messages)
        line.example = self._place.number(row.example_id)
        self.counts.add(line, is_recorded=ask.record)
        if found is not None:
            current = self.policies.current
            version = None if current is None else current.version
            self._steps.add(line, (line.example, found.first), ask.tag, version, self.name)
        self._say_what_to_serve()
        # No secret of the environment's leaves by its answers.
        return scrubbed(line, self.setup.scrub)

    def restart(self, example: int, rollout: int) -> None:
        self.recorder.take(example, rollout, 0)

    def forget(self, example: int, rollout: int) -> None:
        self.restart(example, rollout)
        self._forget((example, rollout))

    async def end_sandboxes(self) -> None:
        await self._gateway.end_sandboxes()

    def _forget(self, pair: RolloutKey) -> "_Request | None":
        self.policies.forget(*pair)
        return self._requests.pop(pair, None)

    def hear(self, event: Event) -> PrimeError | None:
        match event:
            case Start():
                if self.start is None:
                    self._require_same_data(event)
                    self.start = event
                    # How many rollouts there will be only the trainer knows.
                    self.record.begin(msgspec.structs.replace(event, planned=0))
                    self.chosen = self._choose(event)
                    for said in event.said:
                        self._progress.say(said)
                    announce_agents(event.agents, self._progress, sandbox=self.setup.plan.sandbox)
            case AskedVariable():
                self._withheld.hear(event)
            case HostConnected():
                self.outcome.connections.hear(event)
            case Caution() | LogMessage():
                scrub, known = self.setup.scrub.text, self.outcome.warned
                say_of_worker(event, scrub, known, self._progress)
            case WorkerEnd():
                return failure_of(
                    event, self.setup.plan, self.setup.scrub, asked=self._withheld.hint()
                )
        return None

    def _require_same_data(self, start: Start) -> None:
        """Raise Conflict if a session goes on with other examples, whose numbers mean others."""
        before = self._before
        if before is None or before.fingerprint in (None, start.fingerprint):
            return
        now = "others"
        if before.examples != start.examples:
            now = f"{start.examples:,} instead of {before.examples:,}"
        raise Conflict(
            f"The examples of {self.name} have changed since this training began: they are {now}",
            hint="if they are shuffled without a seed, set one with `-a`, and begin a new training",
        )

    def _say_what_to_serve(self) -> None:
        failure = self.recorder.failure
        if failure is not None and not self._said_what_to_serve:
            self._said_what_to_serve = True
            self._progress.warn(failure.message, hint=failure.hint)

    def expect(self, example: int, numbers: list[int], ask: RolloutAsk) -> None:
        """Rollouts of an example were asked for, and will be kept as the ask says."""
        request = _Request(ask, numbers[0])
        self._requests.update({(example, number): request for number in numbers})
