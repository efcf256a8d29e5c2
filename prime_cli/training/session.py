"""One session of the rollout service: gateway, workers and service side by side, until it is ended.

Its folder has the journal and the workers' log of an evaluation, and the trainer's metrics.
"""

import asyncio
import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import msgspec

from prime_cli.core.errors import PartialResult, PrimeError
from prime_cli.core.paths import storage_errors
from prime_cli.core.progress import Progress
from prime_cli.evals.execution.early_stop import interruptible
from prime_cli.evals.execution.interpreter import choose_interpreter
from prime_cli.evals.execution.progress_line import announce_agents
from prime_cli.evals.execution.recorder import row_of
from prime_cli.evals.execution.run import set_up_run
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
from prime_cli.models.price_table import own_path
from prime_cli.models.prices import CAPS
from prime_cli.runs.access_requests import WithheldVariables
from prime_cli.runs.folder import Journal, RunFolder, new_run_folder, run_group_name, writing
from prime_cli.runtime.launch import Worker
from prime_cli.runtime.protocol import AskedVariable, End, Event, Log, Rollout, Start
from prime_cli.training.demand import Demand
from prime_cli.training.dump import Counts, report, scrubbed, training_rollout
from prime_cli.training.policies import Policies, Policy, RolloutKey
from prime_cli.training.recording import TokenRecorder
from prime_cli.training.service import RolloutService
from prime_cli.wire.rollouts import LoadedEnvironment, RolloutAsk, TrainingRollout, TrainingStep

METRICS = "metrics.jsonl"
Announce = Callable[[str, str, RunFolder], None]
"""Called with the service's URL and token, and the session's folder, when it can be asked."""


@dataclass(frozen=True)
class ServiceOptions:
    """How rollouts are served: on which port (0: a free one), by how many `workers`.

    Without a policy from the start, calls of the policy wait until a trainer names one.
    """

    port: int = 0
    workers: int = 1
    has_policy: bool = True


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
    with writing(setup.folder), Journal(setup.folder.journal, setup.scrub) as journal:
        session = RolloutSession(setup, options, journal)
        try:
            return asyncio.run(session.run(announce))
        finally:
            report(session.recorder, session.counts, setup.context.progress)


class RolloutSession:
    """The live session; keeps each finished rollout before it is handed out."""

    def __init__(self, setup: RunSetup, options: ServiceOptions, journal: Journal) -> None:
        sampling = setup.plan.sampling
        first = Policy(sampling=sampling) if options.has_policy else None
        self.policies = Policies(first, sampling)
        self._asks: dict[RolloutKey, RolloutAsk] = {}
        self.recorder = TokenRecorder(
            self.policies, setup.prepared.endpoint, expects=self._asks.__contains__
        )
        self.counts = Counts()
        self._setup = setup
        self._options = options
        self._journal = journal
        self._progress: Progress = setup.context.progress
        self._withheld = WithheldVariables(setup.access.variables, self._progress)
        self._ended = asyncio.Event()
        self._gateway: Gateway
        self._start: Start | None = None
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
        )
        service = RolloutService(demand, self.policies, self, port=self._options.port)
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
            if hold.is_closed:
                raise hold.failure or _capped(hold.capped or "")
            return interrupt.signal

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
        tasks = (serving, ending, announcing)
        try:
            await asyncio.wait((serving, ending), return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                await serving
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _stop(self) -> None:
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
        row = row_of(event, ledger.settle(*pair), ledger.settle_apart())
        turns = self.recorder.take(*pair, row.attempt)
        ask = self._forget(pair)
        self._withheld.record(event)
        if ask is not None and ask.tag:
            row = msgspec.structs.replace(row, state={**row.state, **ask.tag})
        self._journal.append(row)
        line = training_rollout(row, turns, with_messages=ask is not None and ask.messages)
        self.counts.add(line, is_recorded=ask is None or ask.record)
        self._say_what_to_serve()
        # No secret of the environment's leaves by its answers.
        return scrubbed(line, self._setup.scrub)

    def restart(self, example: int, rollout: int) -> None:
        self.recorder.take(example, rollout, 0)

    def forget(self, example: int, rollout: int) -> None:
        self.restart(example, rollout)
        self._forget((example, rollout))

    def _forget(self, pair: RolloutKey) -> RolloutAsk | None:
        self.policies.forget(*pair)
        return self._asks.pop(pair, None)

    def hear(self, event: Event) -> PrimeError | None:
        match event:
            case Start():
                if self._start is None:
                    self._start = event
                    for said in event.said:
                        self._progress.say(said)
                    announce_agents(event.agents, self._progress, sandbox=self._setup.plan.sandbox)
            case AskedVariable():
                self._withheld.hear(event)
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
            numbers=start.numbers,
            unit=start.unit,
            split=plan.option("split"),
            fingerprint=start.fingerprint,
            family=start.family,
            harness=start.harness,
        )

    def expect(self, ask: RolloutAsk, numbers: list[int]) -> None:
        self._asks.update({(ask.example, number): ask for number in numbers})

    def keep_step(self, step: TrainingStep) -> None:
        path = self._setup.folder.path / METRICS
        line = {"step": step.step, **step.metrics}
        with storage_errors(path), path.open("ab") as file:
            file.write(self._setup.scrub(msgspec.json.encode(line)) + b"\n")


def _capped(reason: str) -> PartialResult:
    if reason.startswith(CAPS):
        return PartialResult(reason, hint="raise the limit, and start the service again")
    hint = f"start the service without this cap, or add prices to {own_path()}"
    return PartialResult(reason, hint=hint)
