"""The live part of a run: gateway and workers side by side, and the events between them."""

import shlex
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from prime_cli.core.errors import WorkerDied
from prime_cli.core.progress import Task
from prime_cli.evals.control.server import listening
from prime_cli.evals.execution.controller import RunController
from prime_cli.evals.execution.early_stop import (
    SMALLEST,
    EarlyStop,
    Interrupt,
    WarmupCheck,
    interruptible,
    no_sandbox,
    stopping_early,
    warmup_failure,
)
from prime_cli.evals.execution.progress_line import (
    LOADING,
    WaitingTask,
    calling_every_second,
    say_of_worker,
)
from prime_cli.evals.execution.recorder import EventFilter, Recorder
from prime_cli.evals.execution.session import EvalSession
from prime_cli.evals.execution.session_setup import (
    gateway_of,
    spec_of,
    with_file,
    without_deadlines,
    worker_of,
)
from prime_cli.evals.execution.worker_failures import failure_of
from prime_cli.models.gateway.oracle import GoldAnswers, Message, OracleQuestion
from prime_cli.models.gateway.server import Gateway
from prime_cli.runs import rows
from prime_cli.runs.rows import Row, lacks_capability
from prime_cli.runs.spending import without
from prime_cli.runs.work_list import WorkList
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
from prime_cli.runtime.worker_log import slow_words

if TYPE_CHECKING:
    from prime_cli.evals.execution.ray.fleet import Fleet


class RolloutLoop:
    """Runs the workers of one session, one after another, and handles their events."""

    def __init__(self, session: EvalSession, task: Task) -> None:
        self._session = session
        self._setup = session.setup
        self._outcome = session.outcome
        self._progress = session.progress
        self._task: Task = task
        self._work = session.work
        self._gold = GoldAnswers()
        self._worker: Worker | Fleet | None = None
        self._start: Start | None = None
        self._began = 0.0
        self._event_filter: EventFilter
        self._recorder: Recorder
        self._controller: RunController
        self._early_stop: EarlyStop
        self._warmup: WarmupCheck | None = None

    async def drive(self) -> None:
        """Until the last worker ends; raises the PrimeError of its end.

        A signal is not a failure: it is in the session's `outcome`.
        """
        session, saved = self._session, self._session.saved
        async with gateway_of(self._setup, self._gold, self._progress.say, saved) as gateway:
            self._task = waiting = WaitingTask(self._task, gateway.waits, self._slow_load)
            find = (lambda *_: None) if saved is None else saved.row
            self._recorder = Recorder(session.journal, session.tally, waiting, gateway.ledger, find)
            self._controller = RunController(session, gateway, self._recorder, waiting)
            folder = self._setup.folder.path
            try:
                async with (
                    listening(folder, self._controller.answer, self._progress),
                    calling_every_second(waiting.tick),
                ):
                    await self._listen(gateway)
            finally:
                self._outcome.spent = gateway.ledger.totals()
                self._outcome.served = gateway.ledger.served
                self._outcome.unjournaled = without(self._outcome.spent, self._recorder.journaled)

    async def _listen(self, gateway: Gateway) -> None:
        with (
            interruptible(self._stop, self._setup.context.switchboard) as interrupt,
            stopping_early(gateway, self._cancel) as self._early_stop,
        ):
            work: WorkList | None = self._work
            try:
                while work is not None and not (interrupt.signal or self._early_stop.is_on):
                    work = await self._live(gateway, work, interrupt)
            finally:
                self._controller.end()
                self._outcome.signal = interrupt.signal
                self._outcome.capped = self._early_stop.capped
                self._outcome.fatal = self._early_stop.failure
        if self._outcome.fatal is not None and interrupt.signal is None:
            raise self._outcome.fatal

    async def _live(
        self, gateway: Gateway, work: WorkList, interrupt: Interrupt
    ) -> WorkList | None:
        """One worker from start to end; returns the work of the next one, None for none."""
        self._task.update(note=LOADING)
        self._start, self._began = None, time.monotonic()
        self._work = work
        self._event_filter = EventFilter(self._setup.plan, work)
        try:
            async with self._make_worker(gateway, work) as self._worker:
                await self._controller.attach(self._worker, self._event_filter, self._work)
                if interrupt.signal is None:
                    async for event in self._worker.events():
                        self._handle(event)
        except WorkerDied as death:
            is_over = self._early_stop.is_on or self._controller.is_draining()
            if interrupt.signal is not None or is_over:
                return None
            if (again := self._after(death)) is not None:
                # Those of the dead would count among the sandboxes that the next one may have.
                await gateway.end_sandboxes()
            return again
        if self._controller.is_draining():
            return None
        return self._session.restarts.after_end(self._start) if self._start is not None else None

    def _make_worker(self, gateway: Gateway, work: WorkList) -> "Worker | Fleet":
        setup = self._setup
        if setup.plan.ray is not None:
            from prime_cli.evals.execution.ray.plan import fleet_for

            again = dict(work.again)
            self._work = work = replace(work, again=again)
            return fleet_for(setup, gateway, work, self._session.restarts, again)
        spec, walls = spec_of(setup, gateway, work)
        origin = setup.prepared.origin
        if origin is not None and origin.rescored_of is not None:
            # Judges may call the run's model by its name, but nothing calls it as the policy.
            saved = None if setup.saved is None else str(setup.saved.absolute())
            spec = msgspec.structs.replace(spec, model=setup.prepared.endpoint.model, saved=saved)
            walls = with_file(walls, setup.saved)
        elif self._session.saved is not None and setup.interpreter.generation == "v0":
            spec = msgspec.structs.replace(spec, saved=str(self._session.saved.path), run_rest=True)
            walls = with_file(walls, self._session.saved.path)
        if setup.context.options.debug:
            spec = without_deadlines(spec)
        on_print = self._show_print if setup.context.options.verbose else None
        return worker_of(setup, spec, walls, on_print)

    def _show_print(self, line: str) -> None:
        self._progress.say(f"[{self._setup.plan.environment.name}] {line}")

    def _slow_load(self) -> str:
        if self._controller.words:
            return self._controller.words
        if self._worker is None or self._start is not None:
            return ""
        return slow_words(time.monotonic() - self._began, self._worker.last_print)

    def _after(self, death: WorkerDied) -> WorkList | None:
        work = self._session.restarts.after_death(self._start, death)
        for example, rollout in self._session.restarts.blamed:
            self._keep(
                Rollout(
                    example_id=example,
                    rollout=rollout,
                    attempt=self._session.restarts.attempt((example, rollout)),
                    error=RolloutError(
                        kind="environment", type="WorkerDied", message=death.message
                    ),
                ),
            )
        if work is not None:
            self._progress.warn(f"{death.message}; restarting it", hint=death.hint)
        return work

    async def _stop(self) -> None:
        self._progress.warn(
            "Stopping: rollouts in flight are discarded", hint="press Ctrl-C again to stop at once"
        )
        await self._cancel()

    async def _cancel(self) -> None:
        if self._worker is not None:
            await self._worker.cancel()

    def _handle(self, event: Event) -> None:
        match event:
            case Rollout():
                self._hear_rollout(event)
            case AskedVariable():
                self._session.withheld.hear(event)
            case Start():
                self._event_filter.begin(event)
                self._start = event
                self._early_stop.unit = event.unit
                event = self._without_left_out(event)
                self._controller.begin(event)
                self._task.update(total=event.planned, note="")
                self._gold.learn(event.answers, self._ask if event.oracle else None)
                if self._outcome.start is None:
                    self._session.begin(event)
                    self._outcome.start = event
                    self._warmup = self._warmup_check(event)
                    self._task.advance(event.planned - event.owed)
                    self._recorder.expect(event.owed, event.concurrency or 1)
            case HostConnected():
                self._outcome.connections.hear(event)
            case Caution() | LogMessage():
                say_of_worker(event, self._setup.scrub.text, self._outcome.warned, self._progress)
            case WorkerEnd():
                failure = failure_of(
                    event,
                    self._setup.plan,
                    self._setup.scrub,
                    again=self._setup.prepared.origin is not None,
                    asked=self._session.withheld.hint(),
                    log=self._setup.folder.log,
                    whole=self._setup.context.options.debug,
                )
                if failure is not None:
                    raise failure

    def _hear_rollout(self, event: Rollout) -> None:
        if self._controller.ignores(event):
            return
        self._event_filter.check(event)
        if not self._early_stop.refuses(event):
            self._keep(event)
            self._session.withheld.record(event)

    def _keep(self, event: Rollout) -> None:
        row = self._recorder.record(event, self._why_again(event))
        observer = self._setup.context.observer
        hopeless = None if observer is None else observer.finished(row, self._setup.scrub)
        if hopeless is not None:
            self._early_stop.give_up(hopeless)
            return
        if self._is_out_of_reach(row):
            self._early_stop.give_up(no_sandbox(row, self._setup.scrub))
            return
        failure = self._warmup.take(row) if self._warmup is not None else None
        if self._warmup is None or failure is None:
            return
        setup = self._setup
        training = setup.plan.option("training")
        self._early_stop.give_up(
            warmup_failure(
                failure,
                self._warmup.size,
                setup.run_id if training is None else shlex.quote(str(setup.folder.path)),
                setup.scrub,
                asked=self._session.withheld.hint(),
                has_flag=training is None,
            )
        )

    def _is_out_of_reach(self, row: Row) -> bool:
        """Whether nothing has a score yet, and a sandbox cannot be had at all."""
        plan = self._setup.plan
        if not plan.fail_fast or plan.max_error_rate == 1 or self._session.tally.scored:
            return False
        return row.error is not None and lacks_capability(row.error)

    def _warmup_check(self, start: Start) -> WarmupCheck | None:
        """The rollouts that show whether the others can succeed; None if there are none."""
        plan = self._setup.plan
        size = max(SMALLEST, start.concurrency)
        units = self._session.restarts.next_units(start, size + 1)
        # To score what was saved again costs nothing, and that failed before.
        units = [unit for unit in units if self._work.to_score.isdisjoint(unit)]
        if len(units) <= size or not plan.fail_fast or plan.max_error_rate == 1:
            return None
        return WarmupCheck([pair for unit in units[:size] for pair in unit])

    def _why_again(self, event: Rollout) -> str | None:
        """Why this process or the worker called the model again; None if neither did.

        A worker retries rollouts without an answer, always a whole group.
        """
        pair = event.example_id, event.rollout
        work = self._controller.work
        told = work.again.get(pair)
        if told is None and event.attempt > work.attempts.get(pair, 1):
            return rows.GROUP if event.again == rows.GROUP else rows.INFRA
        return told

    def _without_left_out(self, start: Start) -> Start:
        """`start` reduced to the planned part, if the run repeats only a part."""
        origin = self._setup.prepared.origin
        if origin is None or not origin.left_out:
            return start
        return msgspec.structs.replace(start, planned=start.planned - len(origin.left_out))

    async def _ask(self, question: OracleQuestion) -> Message | None:
        if self._worker is None:
            return None
        return await self._worker.ask_oracle(question.example, question.messages, question.tools)
