"""One session of the rollout service: gateway, workers and service side by side, until it is ended.

Its folder has the journal and the workers' log of an evaluation, and the trainer's metrics.
"""

import asyncio
import math
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import msgspec

from prime_cli.core.errors import PartialResult, PrimeError, StorageFailed, UsageError
from prime_cli.core.progress import Progress
from prime_cli.evals.execution.earlier_sessions import EarlierSessions
from prime_cli.evals.execution.early_stop import interruptible
from prime_cli.evals.execution.interpreter import choose_interpreter
from prime_cli.evals.execution.progress_line import announce_agents
from prime_cli.evals.execution.recorder import row_of
from prime_cli.evals.execution.run import set_up_run
from prime_cli.evals.execution.run_record import RunRecord, SessionOutcome
from prime_cli.evals.execution.setup import (
    RunContext,
    RunSetup,
    grant_access,
    make_spec,
    with_gateway,
    worker_of,
)
from prime_cli.evals.execution.worker_failures import failure_of
from prime_cli.evals.planning.cost import budget_of
from prime_cli.evals.planning.prepare import PreparedRun
from prime_cli.models.gateway.server import Gateway
from prime_cli.models.price_book import own_path
from prime_cli.models.prices import CAPS, Charges, add_charges
from prime_cli.runs.folder import Journal, RunFolder, new_run_folder, run_group_name, writing
from prime_cli.runs.manifest import CAPPED, FAILED, FINISHED
from prime_cli.runs.spending import without
from prime_cli.runs.tally import Tally
from prime_cli.runtime.launch import Worker
from prime_cli.runtime.protocol import AskedVariable, End, Event, Log, Network, Rollout, Start
from prime_cli.training.demand import Demand
from prime_cli.training.dump import Counts, report, scrubbed, training_rollout
from prime_cli.training.policies import Policies, Policy, RolloutKey
from prime_cli.training.recording import TokenRecorder
from prime_cli.training.service import RolloutService, Training
from prime_cli.training.trainer_events import TrainerEvents
from prime_cli.wire.rollouts import (
    EngineFailure,
    Evaluated,
    LoadedEnvironment,
    RolloutAsk,
    StepAnswer,
    TrainingRollout,
)

T = TypeVar("T")
Announce = Callable[[str, str, RunFolder], None]
"""Called with the service's URL and token, and the session's folder, when it can be asked."""


@dataclass(frozen=True)
class ServiceOptions:
    """How rollouts are served: on which port (0: a free one), by how many `workers`.

    Without a policy from the start, calls of the policy wait until a trainer names one. The session
    lasts as long as its `training`, if there is one. `numbers` are those of the next rollouts, by
    example, if earlier sessions had some.
    """

    port: int = 0
    workers: int = 1
    has_policy: bool = True
    training: Training | None = None
    numbers: Mapping[int, int] = field(default_factory=dict)


def serve_rollouts(
    prepared: PreparedRun, context: RunContext, options: ServiceOptions, announce: Announce
) -> int | None:
    """Serve until a signal, and return its number.

    Raises PartialResult at a cap, WorkerDied after five deaths, and what keeps the environment from
    being loaded.
    """
    plan = prepared.plan
    access = grant_access(prepared, context)
    interpreter = choose_interpreter(
        plan, prepared.subject, context, access.sandbox, variables=access.variables
    )
    group = run_group_name(plan.environment.name, plan.model)
    parent = context.cwd / (plan.option("output_dir") or "outputs") / "rollouts" / group
    folder = new_run_folder(parent)
    setup = set_up_run(prepared, interpreter, access, context, budget_of(plan), folder)
    return serve_with(setup, options, announce)


def serve_with(setup: RunSetup, options: ServiceOptions, announce: Announce) -> int | None:
    """The same in a folder, with an interpreter that has the environment."""
    earlier = EarlierSessions()
    with writing(setup.folder), Journal(setup.folder.journal, setup.scrub) as journal:
        record = RunRecord(setup, earlier)
        record.open()
        session = RolloutSession(setup, options, journal, record, earlier.tally)
        try:
            signal = run_loop(session.run(announce))
        except BaseException as failure:
            status = FAILED if session.outcome.capped is None else CAPPED
            with suppress(StorageFailed):  # the first failure is the one to tell
                record.close(session.outcome, status, failure, on_demand=True)
            raise
        finally:
            report(session.recorder, session.counts, setup.context.progress)
        record.close(session.outcome, FINISHED, on_demand=True)
        return signal


def run_loop(main: Coroutine[Any, Any, T]) -> T:
    """Run `main`, on uvloop where that is installed: calls then take less CPU."""
    try:
        import uvloop
    except ImportError:  # Windows, or without the extra `hub`
        return asyncio.run(main)
    return uvloop.run(main)


@dataclass(frozen=True)
class _Request:
    """The ask that a rollout belongs to, and the number of the first rollout of that ask."""

    ask: RolloutAsk
    first: int


_NO_ASK = RolloutAsk(example=0)


class RolloutSession:
    """The live session; keeps each finished rollout before it is handed out."""

    def __init__(
        self,
        setup: RunSetup,
        options: ServiceOptions,
        journal: Journal,
        record: RunRecord,
        tally: Tally,
    ) -> None:
        sampling = setup.plan.sampling
        first = Policy(sampling=sampling) if options.has_policy else None
        self.policies = Policies(first, sampling)
        self._requests: dict[RolloutKey, _Request] = {}
        self._events = TrainerEvents(setup.folder.path, setup.scrub, setup.context.progress)
        self.recorder = TokenRecorder(
            self.policies, setup.prepared.endpoint, expects=self._requests.__contains__
        )
        self.counts = Counts()
        self.outcome = SessionOutcome()
        self._record = record
        self._tally = tally
        self._journaled: Charges = {}
        self._setup = setup
        self._options = options
        self._journal = journal
        self._progress: Progress = setup.context.progress
        self._withheld = record.withheld(self._progress)
        self._ended = asyncio.Event()
        self._given_up: PrimeError | None = None
        self._gateway: Gateway
        self._start: Start | None = None
        self._numbers: list[int] | None = None
        self._said_what_to_serve = False
        # The workers share what may run at a time.
        self._concurrency = math.ceil(setup.plan.concurrency / options.workers)

    async def run(self, announce: Announce) -> int | None:
        """Serve until a signal, and return its number; raises what else ends the session."""
        setup = self._setup
        settings = replace(
            setup.gateway,
            tap=self.recorder,
            policy_of=self.policies.endpoint_of,
            fail_fast=False,
        )
        demand = Demand(
            self._make_worker,
            self,
            self._progress,
            workers=self._options.workers,
            concurrency=self._concurrency,
            numbers=self._options.numbers,
        )
        service = RolloutService(demand, self.policies, self, self._events, port=self._options.port)
        async with (
            Gateway(
                setup.prepared.endpoint,
                setup.prepared.registry,
                run_id=setup.run_id,
                environ=setup.context.environ,
                offline=setup.context.offline,
                settings=settings,
                say=self._progress.say,
            ) as self._gateway,
            service,
        ):
            loop = asyncio.get_running_loop()

            def end() -> None:
                loop.call_soon_threadsafe(self._ended.set)

            hold = self._gateway.hold
            hold.on_close(end)
            try:
                with interruptible(self._stop, setup.context.switchboard) as interrupt:
                    await self._until_the_end(demand, service, announce)
            finally:
                hold.forget(end)
                spent = self._gateway.ledger.totals()
                self.outcome.spent = spent
                self.outcome.served = self._gateway.ledger.served
                self.outcome.unjournaled = without(spent, self._journaled)
            if hold.is_closed:
                self.outcome.capped = None if hold.failure else hold.capped
                raise hold.failure or self._capped(hold.capped or "")
            return interrupt.signal

    def _capped(self, reason: str) -> PartialResult:
        again = "start the service again"
        if self._options.training is not None:
            again = f"continue: `prime train --resume {self._setup.run_id} --max-cost USD`"
        if reason.startswith(CAPS):
            return PartialResult(reason, hint=f"raise the limit, and {again}")
        hint = f"add prices to {own_path()}, or omit this cap, and {again}"
        return PartialResult(reason, hint=hint)

    async def _until_the_end(
        self, demand: Demand[TrainingRollout], service: RolloutService, announce: Announce
    ) -> None:
        async def announce_it() -> None:
            with suppress(PrimeError):  # which ends the session
                await demand.loaded()
                announce(service.url, service.token, self._setup.folder)

        serving = asyncio.ensure_future(demand.run())
        ending = asyncio.ensure_future(self._ended.wait())
        announcing = asyncio.ensure_future(announce_it())
        tasks = [serving, ending, announcing]
        training = self._options.training
        if training is not None:
            beside = training.run(self, service.url, service.token)
            tasks.append(asyncio.ensure_future(beside))
        try:
            ends = [task for task in tasks if task is not announcing]
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if self._given_up is not None:
                raise self._given_up
            for task in ends:
                if task.done():
                    await task
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _stop(self) -> None:
        if self._options.training is not None:
            await self._options.training.stop()
        self._ended.set()

    def _make_worker(self) -> Worker:
        setup, gateway = self._setup, self._gateway
        walls = with_gateway(setup.access.sandbox or setup.namespace, gateway.socket_path)
        spec = make_spec(
            setup.plan,
            setup.interpreter,
            gateway.base_url,
            gateway.token,
            variables=setup.access.variables,
            socket=None if walls is None else walls.gateway_socket,
        )
        spec = msgspec.structs.replace(
            spec, offline=setup.context.offline, follow=True, concurrency=self._concurrency
        )
        return worker_of(setup, spec, walls)

    # --- What becomes of rollouts ---

    def keep(self, event: Rollout) -> TrainingRollout:
        """Journal a finished rollout, and return what its trainer gets."""
        pair = event.example_id, event.rollout
        ledger = self._gateway.ledger
        charges, apart = ledger.settle(*pair), ledger.settle_apart()
        row = row_of(event, charges, apart)
        turns = self.recorder.take(*pair, row.attempt)
        found = self._forget(pair)
        ask = _NO_ASK if found is None else found.ask
        self._withheld.record(event)
        if ask.tag:
            row = msgspec.structs.replace(row, state={**row.state, **ask.tag})
        self._journal.append(row)
        self._tally.add(row)
        add_charges(self._journaled, charges)
        add_charges(self._journaled, apart)
        line = training_rollout(row, turns, with_messages=ask.messages)
        self.counts.add(line, is_recorded=ask.record)
        if found is not None:
            current = self.policies.current
            version = None if current is None else current.version
            self._events.steps.add(line, (event.example_id, found.first), ask.tag, version)
        self._say_what_to_serve()
        # No secret of the environment's leaves by its answers.
        return scrubbed(line, self._setup.scrub)

    def restart(self, example: int, rollout: int) -> None:
        self.recorder.take(example, rollout, 0)

    def forget(self, example: int, rollout: int) -> None:
        self.restart(example, rollout)
        self._forget((example, rollout))

    def _forget(self, pair: RolloutKey) -> "_Request | None":
        self.policies.forget(*pair)
        return self._requests.pop(pair, None)

    def hear(self, event: Event) -> PrimeError | None:
        match event:
            case Start():
                if self._start is None:
                    self._start = event
                    # How many rollouts there will be only the trainer knows.
                    self._record.begin(msgspec.structs.replace(event, planned=0))
                    if self._options.training is not None:
                        self._numbers = self._options.training.begin(event)
                    for said in event.said:
                        self._progress.say(said)
                    announce_agents(event.agents, self._progress, sandbox=self._setup.plan.sandbox)
            case AskedVariable():
                self._withheld.hear(event)
            case Network():
                self.outcome.connections.hear(event)
            case Log():
                self._progress.say(self._setup.scrub.text(event.text))
            case End():
                return failure_of(
                    event, self._setup.plan, self._setup.scrub, asked=self._withheld.hint()
                )
        return None

    def _say_what_to_serve(self) -> None:
        failure = self.recorder.failure
        if failure is not None and not self._said_what_to_serve:
            self._said_what_to_serve = True
            self._progress.warn(failure.message, hint=failure.hint)

    # --- What the service asks ---

    def describe(self) -> LoadedEnvironment:
        plan, start = self._setup.plan, self._start
        assert start is not None  # noqa: S101 - asked only once the environment is loaded
        return LoadedEnvironment(
            ref=plan.environment.title,
            sha256=plan.environment.sha256,
            examples=start.examples,
            numbers=self._numbers or start.numbers,
            unit=start.unit,
            split=plan.option("split"),
            fingerprint=start.fingerprint,
            family=start.family,
            harness=start.harness,
        )

    def expect(self, ask: RolloutAsk, numbers: list[int]) -> None:
        request = _Request(ask, numbers[0])
        self._requests.update({(ask.example, number): request for number in numbers})

    def give_up(self, failure: PrimeError) -> None:
        self._given_up = self._given_up or failure
        self._ended.set()

    def judge_step(self, step: int, line: dict[str, Any]) -> StepAnswer:
        training = self._options.training
        return StepAnswer() if training is None else training.judge_step(step, line)

    async def evaluate(self, step: int) -> Evaluated:
        return await self._training().evaluate(step)

    def note_failure(self, failure: EngineFailure) -> None:
        self._training().note_failure(failure)

    def _training(self) -> Training:
        if self._options.training is None:
            raise UsageError("Only a training of `prime train` has evaluations and failures")
        return self._options.training
