"""The workers of one run on a cluster, as if they were one: `async with Fleet(…)`, then `events()`.

Each gets a few examples at a time. What a worker that is gone had not finished is run by others.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

import msgspec

from prime_cli.core.errors import Conflict, EnvironmentFailed, InternalError, Unreachable
from prime_cli.evals.execution.setup import RunSetup
from prime_cli.evals.ray.access import Access
from prime_cli.evals.ray.accounts import Accounts
from prime_cli.evals.ray.assignments import Assignments
from prime_cli.evals.ray.checks import require_reachable, require_same_prime
from prime_cli.evals.ray.connection import Connection
from prime_cli.evals.ray.keys import KeyHolder
from prime_cli.evals.ray.messages import (
    CallsRefused,
    CallsStopped,
    Command,
    KeysMissing,
    KillWorker,
    Message,
    Notice,
    PrintedLine,
    SendCommand,
    SpendReport,
    StartWorker,
    StoreFile,
    WorkerEvent,
    WorkerFailed,
    WorkerJoined,
    WorkerLost,
    WorkerMessages,
    decode,
)
from prime_cli.evals.ray.node_output import NodeOutput
from prime_cli.evals.ray.units import NodeWorker, UnitKeys, Units
from prime_cli.models.gateway.server import Gateway
from prime_cli.runs.tally import RolloutKey
from prime_cli.runs.work_list import GROUP, WorkList
from prime_cli.runtime.protocol import (
    Cancel,
    End,
    Event,
    Finish,
    Rollout,
    RunRollouts,
    Start,
    decode_event,
)

MOST_LOSSES = 5
"""So many workers in a row may be lost without a finished rollout in between."""
SECONDS_WITHOUT_WORKERS = 600.0
GRACE_SECONDS = 60.0
"""A node ends a rollout at its deadline; one that has not by then is given up with its worker."""
_SLOW_SECONDS = 20.0
_STOP_SECONDS = 10.0
_TICK_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True)
class FleetWork:
    """What a fleet runs: the unfinished `units` of a started environment, those of `work`.

    `again` gets why rollouts are run once more. `opening` is the first command of each worker,
    which comes with the `files` by their digests; `access` has its keys.
    """

    work: WorkList
    units: Callable[[Start], list[UnitKeys]]
    again: dict[RolloutKey, str]
    opening: Command
    access: Access
    files: Mapping[str, bytes] = field(default_factory=dict)


class Fleet:
    """Runs `job` on `workers` workers; None is one a node.

    What they spend is counted by `gateway`, which makes no call itself. `now` is a monotonic clock.
    """

    def __init__(
        self,
        setup: RunSetup,
        gateway: Gateway,
        job: FleetWork,
        connection: Connection,
        *,
        workers: int | None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._setup = setup
        self._progress = setup.context.progress
        self._output = NodeOutput(setup)
        self._gateway = gateway
        self._job = job
        self._connection = connection
        self._wanted = workers
        self._now = now
        self._keys: KeyHolder
        self._accounts: Accounts
        self._workers: dict[int, NodeWorker] = {}
        self._newest = 0
        units = Units(job.work.attempts, job.again)
        self._assignments = Assignments(self._workers, units, self._run, now)
        self._start: Start | None = None
        self._without_workers_since = now()
        self._cancelled = False
        self._give_up_at = 0.0

    async def __aenter__(self) -> Self:
        await self._connection.__aenter__()
        cluster = self._connection.cluster
        self._keys = KeyHolder(self._job.access, cluster.host)
        self._count = self._wanted or cluster.nodes
        self._accounts = Accounts(self._gateway, self._workers, self._count, self._send)
        self._progress.say(
            f"Ray {cluster.ray} at {self._connection.address}, {cluster.nodes} nodes: "
            f"{self._count} workers of {self._setup.plan.concurrency} rollouts at a time"
        )
        for sha256, content in self._job.files.items():
            self._connection.send(StoreFile(sha256, content))
        for _ in range(self._count):
            self._start_worker()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._accounts.close()
        self._keys.close()
        await self._connection.__aexit__()

    async def cancel(self) -> None:
        """Ask all for what is done so far; the events then end at stage "interrupted"."""
        self._cancelled = True
        for number, worker in self._workers.items():
            if worker.is_ready and not worker.has_ended:
                self._send(number, Cancel())
        self._give_up_at = self._now() + _STOP_SECONDS

    @property
    def last_print(self) -> str:
        """The last line that an environment printed."""
        return self._output.last_line

    async def ask_oracle(self, *_: Any) -> dict[str, Any]:
        """Nobody asks: each node has an oracle of its own."""
        raise InternalError("The oracle of a cluster is on its nodes")

    async def events(self) -> AsyncIterator[Event]:
        """The events of all, up to one End; raises as a worker's, and Unreachable."""
        reports = self._connection.reports()
        pending: asyncio.Future[Any] = asyncio.ensure_future(anext(reports))
        try:
            while True:
                done, _ = await asyncio.wait([pending], timeout=_TICK_SECONDS)
                if done:
                    report = pending.result()
                    pending = asyncio.ensure_future(anext(reports))
                    for event in await self._handle(report):
                        yield event
                        if isinstance(event, End):
                            return
                for event in self._look_after():
                    yield event
                if (end := self._end()) is not None:
                    yield end
                    return
        finally:
            pending.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await pending

    # --- What the cluster reports ---

    async def _handle(self, report: Any) -> list[Event]:
        worker = self._workers.get(getattr(report, "worker", -1))
        if worker is None:
            return []  # it was given up
        match report:
            case WorkerJoined():
                self._join(report, worker)
            case WorkerMessages():
                found: list[Event] = []
                for raw in report.messages:
                    if report.worker not in self._workers:
                        break
                    found += await self._receive(report.worker, worker, decode(raw, Message))
                return found
            case WorkerLost():
                return self._lose(report.worker, report.why)
        return []

    def _join(self, joined: WorkerJoined, worker: NodeWorker) -> None:
        require_same_prime(joined)
        here = self._connection.cluster.host
        require_reachable(self._setup.prepared.endpoint.group, joined.host, here)
        worker.host = joined.host
        self._send(joined.worker, self._job.opening, [*self._job.files])
        self._accounts.open(joined.worker)

    async def _receive(self, number: int, worker: NodeWorker, message: Message) -> list[Event]:
        match message:
            case KeysMissing():
                await self._keys.open()
                self._output.say_once(
                    f"Nodes fetch their keys over TLS: {self._keys.address} listens"
                )
                self._send(number, self._keys.ticket(worker.host))
            case SpendReport():
                self._accounts.count(number, message)
            case WorkerEvent():
                return self._take(number, worker, decode_event(bytes(message.event)))
            case WorkerFailed(problem, died):
                if not died:
                    text = f"The node {worker.host}: {problem.message}"
                    raise msgspec.structs.replace(problem, message=text).error()
                return self._lose(number, problem.message)
            case _:
                self._note(worker, message)
        return []

    def _note(self, worker: NodeWorker, message: Message) -> None:
        hold = self._gateway.hold
        match message:
            case PrintedLine(line):
                self._output.print_line(worker.host, line)
            case Notice():
                self._output.show(worker.host, message)
            case CallsStopped(reason):
                if hold.budget is not None:
                    hold.budget.stop(reason)
            case CallsRefused(problem):
                hold.close(problem.error())

    def _take(self, number: int, worker: NodeWorker, event: Event) -> list[Event]:
        match event:
            case Start():
                return self._begin(number, worker, event)
            case Rollout():
                if not self._assignments.settle(worker, event):
                    return []
                self._refill(number)
            case End():
                worker.has_ended = True
                is_own = event.ok or event.stage == "interrupted"
                return [] if is_own else [event]
        return [event]

    def _begin(self, number: int, worker: NodeWorker, start: Start) -> list[Event]:
        worker.is_ready = True
        rollouts = self._setup.plan.rollouts_per_example if start.unit == GROUP else 1
        # A node with little memory runs fewer at a time.
        worker.concurrency = max(1, start.concurrency) * rollouts
        if self._cancelled:
            self._send(number, Cancel())
            return []
        self._accounts.grant(number)
        first, events = self._start, list[Event]()
        if first is None:
            self._start = start
            owed = self._assignments.add(self._job.units(start))
            size = min(start.concurrency, self._setup.plan.concurrency) * self._count
            events.append(msgspec.structs.replace(start, owed=owed, concurrency=size))
        elif start.fingerprint != first.fingerprint:
            raise Conflict(
                f"The examples on the node {worker.host} are not those of the first one",
                hint="if the environment shuffles without a seed, set one with `-a`",
            )
        if start.concurrency < self._setup.plan.concurrency and start.unit != GROUP:
            self._output.say_once(
                f"The node {worker.host} has memory for {start.concurrency} of "
                f"{self._setup.plan.concurrency} rollouts at a time"
            )
        self._refill(number)
        return events

    # --- Work ---

    def _run(self, number: int, rollouts: RunRollouts) -> None:
        self._send(number, rollouts)
        if self._workers[number].needs_grant:
            self._accounts.grant(number)

    def _refill(self, number: int) -> None:
        """Give a worker what it has room for; if that is nothing, others may spend its share."""
        worker = self._workers[number]
        self._assignments.refill(number)
        if worker.is_ready and not worker.is_finishing and not worker.units:
            self._accounts.take_back(number)

    def _lose(self, number: int, why: str) -> list[Event]:
        """A worker is gone: others run what it had; returns the rollouts that cost it its life."""
        worker = self._workers.pop(number)
        self._connection.send(KillWorker(number))
        self._accounts.lose(number)
        if worker.has_ended or self._cancelled:
            return []
        losses = self._assignments.losses
        losses.count(number, worker.host, newest=self._newest)
        if losses.in_a_row > MOST_LOSSES:
            raise EnvironmentFailed(
                f"{losses.in_a_row} workers or nodes in a row were lost without a finished "
                f"rollout: {why}",
                hint="finished rollouts are kept: resume, perhaps here with `--ray none`",
            )
        dead = self._assignments.requeue(worker, why)
        where = f" on {worker.host}" if worker.host else ""
        self._progress.warn(
            f"A worker{where} is lost ({why}); another one runs what it had in flight"
        )
        self._start_worker()
        self._assignments.share()
        for each in self._workers:
            self._refill(each)
        return dead

    def _look_after(self) -> list[Event]:
        """Give up workers that take too long; raises Unreachable if there is none at all."""
        deadlines, attempts = self._setup.plan.deadlines, 1 + self._setup.plan.max_retries
        # The one before it may take its whole time, too.
        longest = 2 * attempts * deadlines.rollout_seconds + GRACE_SECONDS
        dead: list[Event] = []
        for number in self._assignments.overdue(longest):
            dead += self._lose(number, f"a rollout did not end in {longest:.0f} s")
        if any(worker.host for worker in self._workers.values()):
            self._without_workers_since = self._now()
        waited = self._now() - self._without_workers_since
        if waited > SECONDS_WITHOUT_WORKERS:
            raise Unreachable(
                f"Ray has started no worker in {SECONDS_WITHOUT_WORKERS / 60:.0f} minutes",
                hint="see with `ray status` what its nodes lack: a worker takes one CPU",
            )
        if waited > _SLOW_SECONDS:
            self._output.say_once(
                "Ray has started no worker yet: `ray status` says what it waits for"
            )
        return dead

    def _end(self) -> End | None:
        """The end of the run, once there is nothing left to do or to wait for."""
        living = [each for each in self._workers.values() if each.is_ready and not each.has_ended]
        if self._cancelled:
            late = self._now() > self._give_up_at
            return End(ok=False, stage="interrupted") if late or not living else None
        if self._start is None or not self._assignments.are_done:
            return None
        for number, worker in self._workers.items():
            if worker in living and not worker.is_finishing:
                worker.is_finishing = True
                self._send(number, Finish())
        return None if living else End(ok=True)

    # --- Messages ---

    def _start_worker(self) -> None:
        self._newest += 1
        self._workers[self._newest] = NodeWorker()
        self._connection.send(StartWorker(self._newest))

    def _send(self, number: int, command: Command, files: list[str] | None = None) -> None:
        raw = msgspec.Raw(msgspec.json.encode(command))
        self._connection.send(SendCommand(number, raw, files or []))
