"""The live part of a run: gateway and worker side by side, and the events between them."""

from collections.abc import Callable
from dataclasses import dataclass, field

from prime_cli.core.progress import Progress, Task
from prime_cli.evals.endings import failure_of
from prime_cli.evals.interrupt import Interrupt, interruptible
from prime_cli.evals.journal import Journal
from prime_cli.evals.recorder import Recorder
from prime_cli.evals.sandboxing import with_gateway
from prime_cli.evals.setup import Setup
from prime_cli.evals.spending import without
from prime_cli.evals.tally import Tally
from prime_cli.evals.worker import make_spec, worker_variables
from prime_cli.models.gateway.oracle import GoldAnswers, Message, OracleQuestion
from prime_cli.models.gateway.server import Gateway
from prime_cli.models.prices import Charges
from prime_cli.runtime.launch import Worker
from prime_cli.runtime.protocol import End, Event, Log, Rollout, Start


@dataclass
class Outcome:
    """What is known when the run has ended, also when it ended by a failure.

    `spent` is all that was used, `unjournaled` the part of it that is in no line of the journal:
    of rollouts that were given up, say.
    """

    start: Start | None = None
    spent: Charges = field(default_factory=dict)
    unjournaled: Charges = field(default_factory=dict)
    signal: int | None = None


class Drive:
    """One pass over the worker's events; `on_start` is called once the examples are known."""

    def __init__(
        self,
        setup: Setup,
        journal: Journal,
        tally: Tally,
        progress: Progress,
        on_start: Callable[[Start], None],
    ) -> None:
        self.outcome = Outcome()
        self._setup = setup
        self._journal = journal
        self._tally = tally
        self._progress = progress
        self._on_start = on_start
        self._gold: GoldAnswers
        self._worker: Worker
        self._recorder: Recorder

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
        ) as gateway:
            self._recorder = Recorder(self._journal, self._tally, task, gateway.ledger)
            try:
                await self._listen(gateway, task)
            finally:
                self.outcome.spent = gateway.ledger.totals()
                self.outcome.unjournaled = without(self.outcome.spent, self._recorder.journaled)

    async def _listen(self, gateway: Gateway, task: Task) -> None:
        setup = self._setup
        sandbox = with_gateway(setup.sandbox, gateway.socket_path)
        spec = make_spec(setup.plan, setup.interpreter, gateway.base_url, gateway.token)
        variables = worker_variables(
            setup.environ,
            setup.passed,
            base_url=gateway.base_url,
            token=gateway.token,
            python=setup.interpreter.python,
        )
        python = setup.interpreter.python
        task.update(note="loading the environment")
        async with Worker(
            python,
            spec,
            env=variables,
            log_path=setup.log,
            scrub=setup.scrub,
            sandbox=sandbox,
        ) as self._worker:
            with interruptible(self._stop) as interrupt:
                await self._follow(interrupt, task)

    async def _follow(self, interrupt: Interrupt, task: Task) -> None:
        try:
            async for event in self._worker.events():
                self._handle(event, task)
        finally:
            self.outcome.signal = interrupt.signal

    async def _stop(self) -> None:
        self._progress.warn(
            "Stopping: what is in flight is given up", hint="press Ctrl-C again to stop at once"
        )
        await self._worker.cancel()

    def _handle(self, event: Event, task: Task) -> None:
        match event:
            case Rollout():
                self._recorder.record(event)
            case Start():
                self.outcome.start = event
                task.update(total=event.planned, note="")
                self._gold.learn(event.answers, self._ask if event.oracle else None)
                self._on_start(event)
            case Log():
                self._progress.say(self._setup.scrub.text(event.text))
            case End():
                failure = failure_of(event, self._setup.plan, self._setup.scrub)
                if failure is not None:
                    raise failure

    async def _ask(self, question: OracleQuestion) -> Message | None:
        return await self._worker.ask_oracle(question.example, question.messages, question.tools)
