"""One session of the rollout service: gateway, workers and service side by side, until it is ended.

Its folder has the journal and the workers' log of an evaluation, and the trainer's metrics.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

import msgspec

from prime_cli.core.errors import PartialResult, PrimeError, StorageFailed, UsageError
from prime_cli.core.progress import Progress
from prime_cli.evals.control.server import listening
from prime_cli.evals.execution.earlier_sessions import EarlierSessions
from prime_cli.evals.execution.early_stop import interruptible
from prime_cli.evals.execution.run import choose_interpreter
from prime_cli.evals.execution.run_record import RunRecord
from prime_cli.evals.execution.session_setup import RunSetup, set_up_run
from prime_cli.evals.execution.setup import RunContext, grant_access
from prime_cli.evals.planning.prepare import PreparedRun
from prime_cli.models.price_book import own_path
from prime_cli.models.prices import CAPS
from prime_cli.runs.folder import Journal, RunFolder, new_run_folder, run_group_name, writing
from prime_cli.runs.manifest import CAPPED, FAILED, FINISHED
from prime_cli.runtime.protocol import Start
from prime_cli.training.controller import DrainedTraining, TrainingController
from prime_cli.training.dump import report
from prime_cli.training.environment_session import EnvironmentRollouts, EnvironmentSession
from prime_cli.training.mixture import MixedDemand, MixedPolicies, mixed_order, own_example
from prime_cli.training.nodes import Nodes
from prime_cli.training.record import typed_name
from prime_cli.training.service import LOOPBACK, RolloutService
from prime_cli.training.trainer_events import TrainerEvents
from prime_cli.wire.rollouts import (
    EngineFailure,
    Evaluated,
    LoadedEnvironment,
    RolloutAsk,
    StepAnswer,
)

T = TypeVar("T")
Announce = Callable[[str, str, RunFolder], None]
"""Called with the service's URL and token, and the session's folder, when it can be asked."""


class Training(DrainedTraining, Protocol):
    """A training that prime itself runs beside the session."""

    async def run(self, session: "RolloutSession", url: str, token: str) -> None:
        """Run its engine to the end; raises PrimeError."""

    async def stop(self) -> None:
        """Stop after the running step, and wait for that."""

    def begin(self, index: int, start: Start) -> list[int]:
        """An environment is loaded; returns its examples to train on, None for all."""

    def judge_step(self, step: int, line: dict[str, Any]) -> StepAnswer:
        """A step was kept: whether the engine goes on."""

    async def evaluate(self, step: int) -> Evaluated:
        """Evaluate the current weights."""

    def note_failure(self, failure: EngineFailure) -> None:
        """The engine says why it ends."""

    def require_nodes(self) -> Nodes:
        """The machines that train together; raises UsageError for a single one."""


@dataclass(frozen=True)
class ServiceOptions:
    """How rollouts are served: at which address and port (0: a free one), by how many `workers`.

    Without a policy from the start, calls of the policy wait until a trainer names one. The session
    lasts as long as its `training`, if there is one. `ratios` are the shares of several
    environments, which otherwise follow from how many examples each has.
    """

    port: int = 0
    workers: int = 1
    has_policy: bool = True
    training: Training | None = None
    ratios: Sequence[float] = ()
    address: str = LOOPBACK


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
    setup = set_up_run(prepared, interpreter, access, context, folder)
    return serve_with(setup, options, announce)


def serve_with(setup: RunSetup, options: ServiceOptions, announce: Announce) -> int | None:
    """The same in a folder, with an interpreter that has the environment."""
    earlier = EarlierSessions()
    with writing(setup.folder), Journal(setup.folder.journal, setup.scrub) as journal:
        record = RunRecord(setup, earlier)
        record.open()
        name = setup.plan.environment.name
        rollouts = EnvironmentRollouts(name, setup, journal, record, earlier.tally)
        session = RolloutSession([rollouts], options)
        (part,) = session.parts
        try:
            signal = run_loop(session.run(announce))
        except BaseException as failure:
            session.close_after(failure)
            raise
        finally:
            report(part.recorder, part.counts, setup.context.progress)
        session.close(FINISHED)
        return signal


def run_loop(main: Coroutine[Any, Any, T]) -> T:
    """Run `main`, on uvloop where that is installed: calls then take less CPU."""
    try:
        import uvloop
    except ImportError:  # Windows, or without the extra `hub`
        return asyncio.run(main)
    return uvloop.run(main)


def continue_words(setup: RunSetup) -> str:
    """How a training goes on after a cap."""
    name = typed_name(setup.folder.path, setup.context.cwd)
    return f"continue: `prime train --resume {name} --max-cost USD`"


def partial_at_cap(reason: str, again: str) -> PartialResult:
    """The error of a session that a cap has stopped; `again` says how it goes on."""
    if reason.startswith(CAPS):
        return PartialResult(reason, hint=f"raise the limit, and {again}")
    return PartialResult(reason, hint=f"add prices to {own_path()}, or omit this cap, and {again}")


class RolloutSession:
    """The live session: a service, and the rollouts of one or several environments."""

    def __init__(self, parts: Sequence[EnvironmentRollouts], options: ServiceOptions) -> None:
        first = parts[0].setup
        self._progress: Progress = first.context.progress
        self._context = first.context
        self._options = options
        names = [part.name for part in parts] if len(parts) > 1 else []
        self._events = TrainerEvents(first.folder.path, first.scrub, self._progress, names)
        self.parts = [
            EnvironmentSession(
                part,
                self._events.steps,
                partial(self._choose, index),
                workers=options.workers,
                has_policy=options.has_policy,
            )
            for index, part in enumerate(parts)
        ]
        self.policies = MixedPolicies([part.policies for part in self.parts])
        self.controller = TrainingController(self.parts, options.training)
        self._ended = asyncio.Event()
        self._given_up: PrimeError | None = None

    @property
    def failure(self) -> UsageError | None:
        """Why no call of the policy can be recorded, if none can."""
        return next((part.recorder.failure for part in self.parts if part.recorder.failure), None)

    @property
    def finished(self) -> int:
        """How many rollouts have ended."""
        return sum(part.counts.rollouts for part in self.parts)

    def played(self, step: int) -> int:
        """How many rollouts of a running step have ended."""
        return self._events.steps.played(step)

    def _choose(self, index: int, start: Start) -> list[int] | None:
        training = self._options.training
        return None if training is None else training.begin(index, start)

    async def run(self, announce: Announce) -> int | None:
        """Serve until a signal, and return its number; raises what else ends the session."""
        demand = MixedDemand([part.demand for part in self.parts])
        service = RolloutService(
            demand,
            self.policies,
            self,
            self._events,
            address=self._options.address,
            port=self._options.port,
        )
        loop = asyncio.get_running_loop()

        def end() -> None:
            loop.call_soon_threadsafe(self._ended.set)

        async with AsyncExitStack() as stack:
            for part in self.parts:
                await stack.enter_async_context(part.gateway(end))
            await stack.enter_async_context(service)
            folder = self.parts[0].setup.folder.path
            steered = listening(folder, self.controller.answer, self._progress)
            await stack.enter_async_context(steered)
            with interruptible(self._stop, self._context.switchboard) as interrupt:
                await self._until_the_end(demand, service, announce)
        self._check_caps()
        return interrupt.signal

    def close(self, status: str) -> None:
        """Record for each environment how the session ended; raises StorageFailed."""
        for part in self.parts:
            part.record.close(part.outcome, status, on_demand=True)

    def close_after(self, failure: BaseException) -> None:
        """Record that it ended by `failure`, which is told before one of writing that."""
        for part in self.parts:
            status = FAILED if part.outcome.capped is None else CAPPED
            with suppress(StorageFailed):
                part.record.close(part.outcome, status, failure, on_demand=True)

    def _check_caps(self) -> None:
        """Raise why no model can be called any more, if so."""
        closed = [(part, hold) for part in self.parts if (hold := part.hold).is_closed]
        for part, hold in closed:
            part.outcome.capped = None if hold.failure else hold.capped
        for _, hold in closed:
            if hold.failure is not None:
                raise hold.failure
            again = "start the service again"
            if self._options.training is not None:
                again = continue_words(self.parts[0].setup)
            raise partial_at_cap(hold.capped or "", again)

    async def _until_the_end(
        self, demand: MixedDemand, service: RolloutService, announce: Announce
    ) -> None:
        async def announce_it() -> None:
            with suppress(PrimeError):  # which ends the session
                await demand.loaded()
                announce(service.url, service.token, self.parts[0].setup.folder)

        announcing = asyncio.ensure_future(announce_it())
        ends = [asyncio.ensure_future(part.demand.run()) for part in self.parts]
        ends.append(asyncio.ensure_future(self._wait_for_end()))
        training = self._options.training
        if training is not None:
            beside = training.run(self, service.url, service.token)
            ends.append(asyncio.ensure_future(beside))
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if self._given_up is not None:
                raise self._given_up
            for task in ends:
                if task.done():
                    await task
        finally:
            for task in (*ends, announcing):
                task.cancel()
            await asyncio.gather(*ends, announcing, return_exceptions=True)

    async def _wait_for_end(self) -> None:
        await self._ended.wait()

    async def _stop(self) -> None:
        if self._options.training is not None:
            await self._options.training.stop()
        self._ended.set()

    # --- What the service asks ---

    def describe(self) -> LoadedEnvironment:
        described = [part.describe() for part in self.parts]
        if len(described) == 1:
            return described[0]
        try:
            numbers = mixed_order([part.chosen or [] for part in self.parts], self._options.ratios)
        except UsageError as error:
            self.give_up(error)
            raise
        return msgspec.structs.replace(
            described[0], examples=len(set(numbers)), numbers=numbers, environments=described
        )

    def expect(self, ask: RolloutAsk, numbers: list[int]) -> None:
        index, example = own_example(ask.example, len(self.parts))
        self.parts[index].expect(example, numbers, ask)

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

    def nodes(self) -> Nodes:
        return self._training().require_nodes()

    def _training(self) -> Training:
        if self._options.training is None:
            raise UsageError("Only a training of `prime train` has evaluations, failures and nodes")
        return self._options.training
