"""The workers of one run on a cluster, as if they were one: `async with Fleet(…)`, then `events()`.

Each gets a few examples at a time. What a worker that is gone had not finished is run by others.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any, Self

import msgspec

from prime_cli.core.errors import (
    Conflict,
    EnvironmentFailed,
    InternalError,
    Unreachable,
)
from prime_cli.core.paths import storage_errors
from prime_cli.evals.execution.setup import RunSetup
from prime_cli.evals.ray.accounts import Accounts
from prime_cli.evals.ray.checks import require_reachable, require_same_prime
from prime_cli.evals.ray.connection import Connection
from prime_cli.evals.ray.keys import KeyHolder
from prime_cli.evals.ray.units import Losses, Seat, UnitKeys, Units
from prime_cli.evals.ray.wire import (
    Access,
    AskKeys,
    Broken,
    Happened,
    Heard,
    Joined,
    Kill,
    Lost,
    Message,
    Order,
    Place,
    Printed,
    Refused,
    Said,
    Spent,
    Stopped,
    Tell,
    decode,
)
from prime_cli.models.gateway.server import Gateway
from prime_cli.runs.tally import RolloutKey
from prime_cli.runs.work_list import WorkList
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
_GRACE_SECONDS = 60.0
_SLOW_SECONDS = 20.0
_STOP_SECONDS = 10.0
_TICK_SECONDS = 1.0


class Fleet:
    """Runs the unfinished `units` of a started environment on `workers` workers.

    They are those of `work`, whose `again` is kept up to date. `order` opens a worker. What they
    spend is counted by `gateway`, which makes no call itself.
    """

    def __init__(
        self,
        setup: RunSetup,
        gateway: Gateway,
        work: WorkList,
        units: Callable[[Start], list[UnitKeys]],
        again: dict[RolloutKey, str],
        *,
        order: Order,
        access: Access,
        address: str,
        connection: Connection,
        workers: int | None,
    ) -> None:
        self.last_print = ""
        self._setup = setup
        self._gateway = gateway
        self._work = work
        self._find_units = units
        self._order = order
        self._connection = connection
        self._address = address
        self._asked = workers
        self._access = access
        self._keys: KeyHolder
        self._accounts: Accounts
        self._seats: dict[int, Seat] = {}
        self._next_seat = 0
        c = setup.plan.concurrency
        # What keeps a worker busy, and a little more: an order takes a moment.
        self._room = c + c // 4 + 1
        self._units = Units(work.attempts, again, c)
        self._finished: dict[RolloutKey, set[RolloutKey]] = {}
        self._start: Start | None = None
        self._losses = Losses()
        self._alone_since = time.monotonic()
        self._said: set[str] = set()
        self._cancelled = False
        self._give_up_at = 0.0

    async def __aenter__(self) -> Self:
        await self._connection.__aenter__()
        cluster = self._connection.cluster
        self._keys = KeyHolder(self._access, cluster.host)
        count = self._workers = self._asked or cluster.nodes
        self._accounts = Accounts(self._gateway, self._seats, count, self._tell)
        c = self._setup.plan.concurrency
        self._setup.context.progress.say(
            f"Ray {cluster.ray} at {self._address}, {cluster.nodes} nodes: {count} workers of {c} "
            "rollouts at a time"
        )
        for _ in range(count):
            self._place()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._accounts.close()
        self._keys.close()
        await self._connection.__aexit__()

    async def cancel(self) -> None:
        """Ask all for what is done so far; the events then end at stage "interrupted"."""
        self._cancelled = True
        for number, seat in self._seats.items():
            if seat.is_ready and not seat.has_ended:
                self._tell(number, Cancel())
        self._give_up_at = time.monotonic() + _STOP_SECONDS

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
        seat = self._seats.get(getattr(report, "seat", -1))
        if seat is None:
            return []  # it was given up
        match report:
            case Joined():
                self._join(report, seat)
            case Heard():
                found: list[Event] = []
                for raw in report.messages:
                    if report.seat not in self._seats:
                        break
                    found += await self._hear(report.seat, seat, decode(raw, Message))
                return found
            case Lost():
                return self._lose(report.seat, report.why)
        return []

    def _join(self, joined: Joined, seat: Seat) -> None:
        require_same_prime(joined)
        here = self._connection.cluster.host
        require_reachable(self._setup.prepared.endpoint.group, joined.host, here)
        seat.host = joined.host
        self._tell(joined.seat, self._order)
        self._accounts.open(joined.seat)

    async def _hear(self, number: int, seat: Seat, message: Message) -> list[Event]:
        match message:
            case AskKeys():
                await self._keys.open()
                self._say_once(f"Nodes fetch their keys over TLS: {self._keys.address} listens")
                self._tell(number, self._keys.ticket(seat.host))
            case Spent():
                self._accounts.count(number, message)
            case Happened():
                return self._take(number, seat, decode_event(bytes(message.event)))
            case Broken(problem, died):
                if not died:
                    told = f"The node {seat.host}: {problem.message}"
                    raise msgspec.structs.replace(problem, message=told).error()
                return self._lose(number, problem.message)
            case _:
                self._note(seat, message)
        return []

    def _note(self, seat: Seat, message: Message) -> None:
        hold = self._gateway.hold
        match message:
            case Printed(line):
                self.last_print = line
                if self._setup.context.verbose:
                    name = self._setup.plan.environment.name
                    self._setup.context.progress.say(f"[{name}] {line}")
                self._log(f"{seat.host}: {line}\n")
            case Said(text):
                self._say_once(text)
            case Stopped(reason):
                if hold.budget is not None:
                    hold.budget.stop(reason)
            case Refused(problem):
                hold.close(problem.error())

    def _take(self, number: int, seat: Seat, event: Event) -> list[Event]:
        match event:
            case Start():
                return self._begin(number, seat, event)
            case Rollout():
                if not self._settle(seat, event):
                    return []
                self._refill(number, seat)
            case End():
                seat.has_ended = True
                is_own = event.ok or event.stage == "interrupted"
                return [] if is_own else [event]
        return [event]

    def _begin(self, number: int, seat: Seat, start: Start) -> list[Event]:
        seat.is_ready = True
        if self._cancelled:
            self._tell(number, Cancel())
            return []
        self._accounts.grant(number)
        first = self._start
        told: list[Event] = []
        if first is None:
            self._start = start
            self._units.waiting.extend(self._find_units(start))
            owed = sum(map(len, self._units.waiting))
            size = min(start.concurrency, self._setup.plan.concurrency) * self._workers
            told.append(msgspec.structs.replace(start, owed=owed, concurrency=size))
        elif start.fingerprint != first.fingerprint:
            raise Conflict(
                f"The examples on the node {seat.host} are not those of the first one",
                hint="if the environment shuffles without a seed, set one with `-a`",
            )
        self._refill(number, seat)
        return told

    def _settle(self, seat: Seat, event: Rollout) -> bool:
        """Take a finished rollout off its seat; False if the seat had not been told to run it."""
        pair = event.example_id, event.rollout
        first = next((key for key, (unit, _) in seat.units.items() if pair in unit), None)
        if first is None:
            return False
        done = self._finished.setdefault(first, set())
        done.add(pair)
        if len(done) == len(seat.units[first][0]):
            del seat.units[first], self._finished[first]
        self._losses = Losses()
        return True

    # --- Work ---

    def _refill(self, number: int, seat: Seat) -> None:
        """Give a worker what it has room for."""
        if self._start is None or not seat.is_ready or seat.is_finishing:
            return
        seat.is_alone = seat.is_alone and bool(seat.units)
        while self._units.waiting and seat.has_room(self._room):
            self._run(number, seat, self._units.waiting.popleft())
        if self._units.aside and not self._units.waiting and not seat.units:
            seat.is_alone = True
            self._run(number, seat, self._units.aside.popleft())
        if not seat.units:
            self._accounts.take_back(number)

    def _refill_all(self) -> None:
        """Share what waits: each unit goes to the worker that has the least to do."""
        while self._units.waiting:
            free = [(s.rollouts(), n) for n, s in self._seats.items() if s.has_room(self._room)]
            if not free:
                break
            number = min(free)[1]
            self._run(number, self._seats[number], self._units.waiting.popleft())
        for number, seat in self._seats.items():
            self._refill(number, seat)

    def _run(self, number: int, seat: Seat, unit: UnitKeys) -> None:
        seat.units[unit[0]] = unit, time.monotonic()
        rollouts = [rollout for _, rollout in unit]
        self._tell(number, RunRollouts(unit[0][0], rollouts, self._units.attempt(unit)))
        if seat.waits:
            self._accounts.grant(number)

    def _lose(self, number: int, why: str) -> list[Event]:
        """A worker is gone: others run what it had; returns the rollouts that cost it its life."""
        seat = self._seats.pop(number)
        self._connection.send(Kill(number))
        self._accounts.lose(number)
        if seat.has_ended or self._cancelled:
            return []
        self._losses.count(number, seat.host, newest=self._next_seat)
        if self._losses.in_a_row > MOST_LOSSES:
            raise EnvironmentFailed(
                f"{self._losses.in_a_row} workers or nodes in a row were lost without a finished "
                f"rollout: {why}",
                hint="finished rollouts are kept: resume, perhaps here with `--ray none`",
            )
        for first in seat.units:
            self._finished.pop(first, None)
        dead = self._units.requeue(seat, why)
        where = f" on {seat.host}" if seat.host else ""
        self._setup.context.progress.warn(
            f"A worker{where} is lost ({why}); another one runs what it had in flight"
        )
        self._place()
        self._refill_all()
        return dead

    def _look_after(self) -> list[Event]:
        """Give up workers that take too long; raises Unreachable if there is none at all."""
        now, deadlines = time.monotonic(), self._setup.plan.deadlines
        attempts = 1 + self._setup.plan.max_retries
        # The one before it may take its whole time, too.
        longest = 2 * attempts * deadlines.rollout_seconds + _GRACE_SECONDS
        dead: list[Event] = []
        for number, seat in list(self._seats.items()):
            if any(now - since > longest for _, since in seat.units.values()):
                dead += self._lose(number, f"a rollout did not end in {longest:.0f} s")
        if any(seat.host for seat in self._seats.values()):
            self._alone_since = now
        elif now - self._alone_since > SECONDS_WITHOUT_WORKERS:
            raise Unreachable(
                f"Ray has started no worker in {SECONDS_WITHOUT_WORKERS / 60:.0f} minutes",
                hint="see with `ray status` what its nodes lack: a worker takes one CPU",
            )
        elif now - self._alone_since > _SLOW_SECONDS:
            self._say_once("Ray has started no worker yet: `ray status` says what it waits for")
        return dead

    def _end(self) -> End | None:
        """The end of the run, once there is nothing left to do or to wait for."""
        living = [seat for seat in self._seats.values() if seat.is_ready and not seat.has_ended]
        if self._cancelled:
            late = time.monotonic() > self._give_up_at
            return End(ok=False, stage="interrupted") if late or not living else None
        is_busy = self._units.waiting or self._units.aside or any(seat.units for seat in living)
        if self._start is None or is_busy:
            return None
        for number, seat in self._seats.items():
            if seat in living and not seat.is_finishing:
                seat.is_finishing = True
                self._tell(number, Finish())
        return None if living else End(ok=True)

    # --- Words ---

    def _place(self) -> None:
        self._next_seat += 1
        self._seats[self._next_seat] = Seat()
        self._connection.send(Place(self._next_seat))

    def _tell(self, number: int, order: Order) -> None:
        self._connection.send(Tell(number, msgspec.Raw(msgspec.json.encode(order))))

    def _say_once(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._setup.context.progress.say(text)

    def _log(self, line: str) -> None:
        path = self._setup.folder.log
        with storage_errors(path), path.open("ab") as file:
            file.write(self._setup.scrub(line.encode("utf-8", "replace")))
