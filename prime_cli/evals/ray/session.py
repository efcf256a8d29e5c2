"""The live part of a worker on a node: gateway and environment, commands in, messages out."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from prime_cli.evals.execution.gateway_setup import gateway_of
from prime_cli.evals.execution.setup import RunSetup
from prime_cli.evals.execution.worker_setup import spec_of, worker_of
from prime_cli.evals.ray.accounts import why_stopped
from prime_cli.evals.ray.leases import Lease
from prime_cli.evals.ray.messages import (
    CallsStopped,
    Command,
    Grant,
    Message,
    Notice,
    Open,
    PrintedLine,
    RolloutUsage,
    SpendReport,
)
from prime_cli.models.gateway.oracle import GoldAnswers, OracleQuestion
from prime_cli.models.gateway.oracle import Message as OracleMessage
from prime_cli.models.gateway.server import Gateway
from prime_cli.runs.spending import write_charges
from prime_cli.runs.work_list import WorkList
from prime_cli.runtime.launch import Worker
from prime_cli.runtime.protocol import Cancel, Finish, RunRollouts, Start

_TICK_SECONDS = 1.0
_STEP_SECONDS = 0.05


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
        gateway = gateway_of(self._setup, self._gold, lambda text: self._send(Notice(text)))
        async with gateway as self._gateway:
            gateway.hold.on_close(self._say_stopped)
            async with self._make_worker() as self._worker:
                beside = [
                    asyncio.ensure_future(each) for each in (self._handle_commands(), self._tick())
                ]
                try:
                    await self._listen()
                finally:
                    for task in beside:
                        task.cancel()
                    self._report()

    def _make_worker(self) -> Worker:
        setup, opening = self._setup, self._opening
        work = WorkList(
            setup.plan.concurrency, prefix=opening.prefix, fingerprint=opening.fingerprint
        )
        spec, walls = spec_of(setup, self._gateway, work)
        spec = msgspec.structs.replace(spec, follow=True)
        # What it prints goes into the log of the run, which the parent has.
        return worker_of(
            setup, spec, walls, lambda line: self._send(PrintedLine(line)), Path(os.devnull)
        )

    def _say_stopped(self) -> None:
        """Say that calls have stopped, after how many are still in flight."""
        self._report()
        self._send(why_stopped(self._gateway.hold))

    async def _listen(self) -> None:
        async for event in self._worker.events():
            self._report()
            if isinstance(event, Start):
                self._gold.learn(event.answers, self._ask if event.oracle else None)
                # The oracle, which needs the answers, is here.
                self._send(msgspec.structs.replace(event, answers={}, oracle=False))
            else:
                self._send(event)

    async def _ask(self, question: OracleQuestion) -> OracleMessage | None:
        return await self._worker.ask_oracle(question.example, question.messages, question.tools)

    async def _handle_commands(self) -> None:
        while True:
            match await self._commands.get():
                case Grant() as grant:
                    self._lease.receive(grant)
                case CallsStopped(reason, problem):
                    if problem is not None:
                        self._gateway.hold.close(problem.error())
                    else:
                        self._lease.stop(reason)
                case Cancel():
                    await self._worker.cancel()
                case (RunRollouts() | Finish()) as command:
                    await self._worker.tell(command)

    async def _tick(self) -> None:
        passed = 0.0
        while True:
            waited = bool(self._lease.held)
            await asyncio.sleep(_STEP_SECONDS)
            passed += _STEP_SECONDS
            # A call that begins to wait is reported at once.
            if passed >= _TICK_SECONDS or (self._lease.held and not waited):
                self._report()
                passed = 0.0

    def _report(self) -> None:
        """Report what was used since the last time, if anything."""
        ledger, hold = self._gateway.ledger, self._gateway.hold
        used = [
            RolloutUsage(*pair, write_charges(ledger.settle(*pair))) for pair in list(ledger.open)
        ]
        apart = ledger.settle_apart()
        if apart:
            used.append(RolloutUsage(None, None, write_charges(apart)))
        served = [(*each, count) for each, count in ledger.served.items()]
        ledger.served.clear()
        held = sorted(self._lease.held | hold.held)
        if used or served or held or hold.in_flight != self._reported_in_flight:
            self._reported_in_flight = hold.in_flight
            self._send(SpendReport(used, served, held, hold.in_flight))
