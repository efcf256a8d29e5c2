"""The live part of a worker on a node: gateway and environment, commands in, messages out."""

import asyncio
from collections.abc import Callable

import msgspec

from prime_cli.evals.execution.setup import (
    RunSetup,
    make_spec,
    with_gateway,
    worker_of,
)
from prime_cli.evals.ray.leases import Lease
from prime_cli.evals.ray.messages import (
    CallsRefused,
    CallsStopped,
    Command,
    Grant,
    Message,
    Notice,
    Open,
    PrintedLine,
    Problem,
    RolloutUsage,
    SpendReport,
    WorkerEvent,
)
from prime_cli.models.gateway.oracle import GoldAnswers, OracleQuestion
from prime_cli.models.gateway.oracle import Message as OracleMessage
from prime_cli.models.gateway.server import Gateway
from prime_cli.runs.spending import write_charges
from prime_cli.runs.work_list import WorkList
from prime_cli.runtime.launch import Worker
from prime_cli.runtime.protocol import Cancel, Event, Finish, RunRollouts, Start

_TICK_SECONDS = 1.0


class Session:
    """Runs what `commands` say in the environment of `setup`, and reports with `send`."""

    def __init__(
        self,
        opening: Open,
        setup: RunSetup,
        lease: Lease,
        commands: "asyncio.Queue[Command]",
        send: Callable[[Message], None],
    ) -> None:
        self._opening = opening
        self._setup = setup
        self._lease = lease
        self._commands = commands
        self._send = send
        self._gold = GoldAnswers()
        self._reported_in_flight = 0
        self._gateway: Gateway
        self._worker: Worker

    async def run(self) -> None:
        """Until the worker ends; raises WorkerDied."""
        setup = self._setup
        async with Gateway(
            setup.prepared.endpoint,
            setup.prepared.registry,
            run_id=self._opening.run_id,
            gold=self._gold,
            environ=setup.context.environ,
            offline=setup.context.offline,
            settings=setup.gateway,
            say=lambda text: self._send(Notice(text)),
        ) as self._gateway:
            self._gateway.hold.on_close(self._send_why)
            async with self._make_worker() as self._worker:
                helpers = [
                    asyncio.ensure_future(each) for each in (self._handle_commands(), self._tick())
                ]
                try:
                    await self._listen()
                finally:
                    for helper in helpers:
                        helper.cancel()
                    self._report()

    def _make_worker(self) -> Worker:
        setup, gateway, opening = self._setup, self._gateway, self._opening
        walls = with_gateway(setup.access.sandbox or setup.namespace, gateway.socket_path)
        work = WorkList(
            setup.plan.concurrency, prefix=opening.prefix, fingerprint=opening.fingerprint
        )
        spec = make_spec(
            setup.plan,
            setup.interpreter,
            gateway.base_url,
            gateway.token,
            work,
            setup.access.variables,
            socket=None if walls is None else walls.gateway_socket,
        )
        spec = msgspec.structs.replace(spec, follow=True, offline=opening.offline)
        return worker_of(setup, spec, walls, lambda line: self._send(PrintedLine(line)))

    async def _listen(self) -> None:
        async for event in self._worker.events():
            if isinstance(event, Start):
                self._gold.learn(event.answers, self._ask if event.oracle else None)
            self._report()
            self._send(WorkerEvent(msgspec.Raw(msgspec.json.encode(_as_sent(event)))))

    async def _ask(self, question: OracleQuestion) -> OracleMessage | None:
        return await self._worker.ask_oracle(question.example, question.messages, question.tools)

    async def _handle_commands(self) -> None:
        while True:
            match await self._commands.get():
                case Grant() as grant:
                    self._lease.receive(grant)
                case CallsStopped(reason):
                    self._lease.stop(reason)
                case CallsRefused(problem):
                    self._gateway.hold.close(problem.error())
                case Cancel():
                    await self._worker.cancel()
                case (RunRollouts() | Finish()) as command:
                    await self._worker.tell(command)

    async def _tick(self) -> None:
        while True:
            # A call that waits is reported at once.
            before = bool(self._lease.held)
            for _ in range(20):
                await asyncio.sleep(_TICK_SECONDS / 20)
                if self._lease.held and not before:
                    break
            self._report()

    def _report(self) -> None:
        """Report what was used since the last time, if anything."""
        ledger = self._gateway.ledger
        used = [
            RolloutUsage(*pair, write_charges(ledger.settle(*pair))) for pair in list(ledger.open)
        ]
        apart = ledger.settle_apart()
        if apart:
            used.append(RolloutUsage(None, None, write_charges(apart)))
        served = [(*each, count) for each, count in ledger.served.items()]
        ledger.served.clear()
        held = sorted(self._lease.held | self._gateway.hold.held)
        in_flight = self._gateway.hold.in_flight
        if used or served or held or in_flight != self._reported_in_flight:
            self._reported_in_flight = in_flight
            self._send(SpendReport(used, served, held, in_flight))

    def _send_why(self) -> None:
        """The gateway lets no more calls through."""
        hold = self._gateway.hold
        if hold.failure is not None:
            self._send(CallsRefused(Problem.of(hold.failure)))
        elif hold.capped is not None:
            self._send(CallsStopped(hold.capped))


def _as_sent(event: Event) -> Event:
    """`event` without the answers, which the oracle needs here alone."""
    if isinstance(event, Start):
        return msgspec.structs.replace(event, answers={}, oracle=False)
    return event
