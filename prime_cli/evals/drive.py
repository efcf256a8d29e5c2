"""The live part of a run: gateway and workers side by side, and the events between them."""

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from prime_cli.core.errors import WorkerDied
from prime_cli.core.progress import Progress, Task
from prime_cli.evals.admission import Admission
from prime_cli.evals.cap_stop import CapStop, stopping_at_cap
from prime_cli.evals.endings import failure_of
from prime_cli.evals.interrupt import Interrupt, interruptible
from prime_cli.evals.journal import Journal
from prime_cli.evals.recorder import Recorder
from prime_cli.evals.resuming.lives import Lives
from prime_cli.evals.resuming.orders import Orders
from prime_cli.evals.sandboxing import with_file, with_gateway
from prime_cli.evals.setup import Setup
from prime_cli.evals.spending import without
from prime_cli.evals.tally import Tally
from prime_cli.evals.waiting import WaitingTask, ticking
from prime_cli.evals.worker import make_spec, worker_variables
from prime_cli.models.gateway.oracle import GoldAnswers, Message, OracleQuestion
from prime_cli.models.gateway.server import Gateway
from prime_cli.models.prices import Charges
from prime_cli.runtime.launch import Worker
from prime_cli.runtime.protocol import End, Event, Log, Rollout, RolloutError, Start


@dataclass
class Outcome:
    """What is known when the run has ended, also when it ended by a failure.

    `spent` is all that was used, `unjournaled` the part of it that is in no line of the journal:
    of rollouts that were given up, say. `capped` says which cap is reached.
    """

    start: Start | None = None
    spent: Charges = field(default_factory=dict)
    unjournaled: Charges = field(default_factory=dict)
    signal: int | None = None
    capped: str | None = None


class Drive:
    """What the workers of one session say, the first of which has `orders` and the next what
    `lives` tell; `on_start` is called once the examples are known.
    """

    def __init__(
        self,
        setup: Setup,
        journal: Journal,
        tally: Tally,
        progress: Progress,
        on_start: Callable[[Start], None],
        lives: Lives,
        orders: Orders,
    ) -> None:
        self.outcome = Outcome()
        self._setup = setup
        self._journal = journal
        self._tally = tally
        self._progress = progress
        self._on_start = on_start
        self._lives = lives
        self._orders = orders
        self._gold: GoldAnswers
        self._worker: Worker | None = None
        self._start: Start | None = None
        self._admission: Admission
        self._recorder: Recorder
        self._cap_stop: CapStop

    async def run(self, task: Task) -> None:
        """Run to the worker's end; raises the PrimeError that the end stands for.

        A signal is no failure: it is in `outcome`.
        """
        setup = self._setup
        self._gold = GoldAnswers()
        async with Gateway(
            setup.endpoint,
            setup.registry,
            run_id=setup.run_id,
            gold=self._gold,
            environ=setup.environ,
            offline=setup.offline,
            settings=setup.gateway,
            recording=setup.recording,
        ) as gateway:
            task = waiting = WaitingTask(task, gateway.waits)
            self._recorder = Recorder(self._journal, self._tally, task, gateway.ledger)
            try:
                async with ticking(waiting.tick):
                    await self._listen(gateway, task)
            finally:
                self.outcome.spent = gateway.ledger.totals()
                self.outcome.unjournaled = without(self.outcome.spent, self._recorder.journaled)

    async def _listen(self, gateway: Gateway, task: Task) -> None:
        with (
            interruptible(self._stop, self._setup.switchboard) as interrupt,
            stopping_at_cap(gateway, self._cancel) as self._cap_stop,
        ):
            orders: Orders | None = self._orders
            try:
                while orders is not None and interrupt.signal is None and not self._cap_stop.reason:
                    orders = await self._live(gateway, orders, interrupt, task)
            finally:
                self.outcome.signal = interrupt.signal
                self.outcome.capped = self._cap_stop.reason

    async def _live(
        self, gateway: Gateway, orders: Orders, interrupt: Interrupt, task: Task
    ) -> Orders | None:
        """One worker from its start to its end; the orders of the next, None for none."""
        task.update(note="loading the environment")
        self._start = None
        self._admission = Admission(self._setup.plan, orders)
        try:
            async with self._make_worker(gateway, orders) as self._worker:
                if interrupt.signal is None:
                    async for event in self._worker.events():
                        self._handle(event, task)
        except WorkerDied as death:
            if interrupt.signal is not None or self._cap_stop.reason:
                return None
            return self._after(death)
        return self._lives.after_end(self._start) if self._start is not None else None

    def _make_worker(self, gateway: Gateway, orders: Orders) -> Worker:
        setup = self._setup
        spec = make_spec(setup.plan, setup.interpreter, gateway.base_url, gateway.token, orders)
        sandbox = with_gateway(setup.sandbox, gateway.socket_path)
        if setup.origin is not None and setup.origin.rescored_of is not None:
            # Judges may call the run's model by its name, but nothing calls it as the policy.
            saved = None if setup.saved is None else str(setup.saved.absolute())
            spec = msgspec.structs.replace(spec, model=setup.endpoint.model, saved=saved)
            sandbox = with_file(sandbox, setup.saved)
        variables = worker_variables(
            setup.environ,
            setup.passed,
            base_url=gateway.base_url,
            token=gateway.token,
            python=setup.interpreter.python,
        )
        return Worker(
            setup.interpreter.python,
            spec,
            env=variables,
            log_path=setup.log,
            scrub=setup.scrub,
            sandbox=sandbox,
        )

    def _after(self, death: WorkerDied) -> Orders | None:
        orders = self._lives.after_death(self._start, death)
        for example, rollout in self._lives.blamed:
            self._recorder.record(
                Rollout(
                    example_id=example,
                    rollout=rollout,
                    attempt=self._lives.attempt((example, rollout)),
                    error=RolloutError(
                        kind="environment", type="WorkerDied", message=death.message
                    ),
                )
            )
        if orders is not None:
            self._progress.warn(f"{death.message}: it is started again", hint=death.hint)
        return orders

    async def _stop(self) -> None:
        self._progress.warn(
            "Stopping: what is in flight is given up", hint="press Ctrl-C again to stop at once"
        )
        await self._cancel()

    async def _cancel(self) -> None:
        if self._worker is not None:
            await self._worker.cancel()

    def _handle(self, event: Event, task: Task) -> None:
        match event:
            case Rollout():
                self._admission.check(event)
                if not self._cap_stop.refuses(event):
                    self._recorder.record(event)
            case Start():
                self._admission.begin(event)
                self._start = event
                self._cap_stop.unit = event.unit
                event = self._without_left_out(event)
                task.update(total=event.planned, note="")
                self._gold.learn(event.answers, self._ask if event.oracle else None)
                if self.outcome.start is None:
                    self.outcome.start = event
                    task.advance(event.planned - event.owed)
                    self._on_start(event)
            case Log():
                self._progress.say(self._setup.scrub.text(event.text))
            case End():
                failure = failure_of(
                    event,
                    self._setup.plan,
                    self._setup.scrub,
                    again=self._setup.origin is not None,
                )
                if failure is not None:
                    raise failure

    def _without_left_out(self, start: Start) -> Start:
        """`start` with what is planned of it: a part, where the run makes again a part."""
        origin = self._setup.origin
        if origin is None or not origin.left_out:
            return start
        return msgspec.structs.replace(start, planned=start.planned - len(origin.left_out))

    async def _ask(self, question: OracleQuestion) -> Message | None:
        if self._worker is None:
            return None
        return await self._worker.ask_oracle(question.example, question.messages, question.tools)
