"""Rollouts of one environment on demand, by workers that follow and are kept alive.

The rollouts of an example are numbered over the whole session, so that no two calls of a model are
ever mistaken for each other. After the death of a worker what was in flight is asked for again,
under the same numbers and with a higher attempt. A rollout is delivered at most once.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from prime_cli.core.errors import EnvironmentFailed, PrimeError, UsageError, WorkerDied
from prime_cli.core.progress import Progress
from prime_cli.runtime.protocol import (
    DropRollouts,
    Event,
    Finish,
    Order,
    Rollout,
    RolloutError,
    RunRollouts,
    Start,
    Steer,
    WorkerEnd,
)

MOST_DEATHS = 5
"""So many deaths of workers end a session."""
DEATHS_OF_A_ROLLOUT = 2
"""A rollout that was in flight at so many deaths ends in an error."""

RolloutKey = tuple[int, int]
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Follower(Protocol):
    """A worker that follows: `runtime.launch.Worker`."""

    def events(self) -> AsyncIterator[Event]:
        """Its events up to End; raises WorkerDied."""

    async def tell(self, order: Order) -> None:
        """Give it an order."""


MakeWorker = Callable[[], AbstractAsyncContextManager[Follower]]


class RolloutKeeper(Protocol[T_co]):
    """What becomes of rollouts beyond the workers."""

    def keep(self, event: Rollout) -> T_co:
        """Store a finished rollout, and return what the one who asked for it gets."""

    def keep_cancelled(self, example: int, rollout: int, attempt: int, by: str) -> T_co:
        """The same for one that the user `by` has cancelled."""

    def restart(self, example: int, rollout: int) -> None:
        """A rollout will be run once more: nothing of it counts so far."""

    def forget(self, example: int, rollout: int) -> None:
        """A rollout was given up."""

    async def end_sandboxes(self) -> None:
        """End those of the only worker, which has died."""

    def hear(self, event: Event) -> PrimeError | None:
        """Note any other event; returns the failure that an End may be."""


@dataclass
class _Owed(Generic[T]):
    """A rollout that somebody waits for; `unit` are the numbers that were asked for with it."""

    unit: tuple[int, ...]
    answers: "asyncio.Queue[T | BaseException]"
    attempt: int = 1
    deaths: int = 0


@dataclass
class _Seat(Generic[T]):
    """The place of one worker, and what it owes; None between two workers."""

    owed: dict[RolloutKey, _Owed[T]] = field(default_factory=dict)
    worker: Follower | None = None


class Demand(Generic[T]):
    """Asks the workers that `make_worker` makes; `start` is what the first one said.

    Each runs at most `concurrency` rollouts at a time, or one larger group. Rollouts go to
    `keeper`, then to the one who asked. Deaths are reported to `progress`. `numbers` are the next
    ones by example, where they do not begin at 0.
    """

    def __init__(
        self,
        make_worker: MakeWorker,
        keeper: RolloutKeeper[T],
        progress: Progress,
        *,
        workers: int = 1,
        concurrency: int,
        numbers: Mapping[int, int] | None = None,
    ) -> None:
        self.start: Start | None = None
        self._make_worker = make_worker
        self._keeper = keeper
        self._progress = progress
        self._concurrency = concurrency
        self._seats: list[_Seat[T]] = [_Seat() for _ in range(workers)]
        self._next: Counter[int] = Counter(numbers)
        self._deaths = 0
        self._finishing = self._is_held = False
        self._loaded = asyncio.Event()
        self._failure: BaseException | None = None

    async def loaded(self) -> Start:
        """What the environment said of itself; waits for it, raises what kept it from that."""
        await self._loaded.wait()
        if self._failure is not None:
            raise self._failure
        assert self.start is not None  # noqa: S101 - without a failure there was one
        return self.start

    async def numbers(self, example: int, count: int) -> list[int]:
        """Numbers for `count` more rollouts; raises UsageError for an unknown example."""
        start = await self.loaded()
        known = range(start.examples) if start.numbers is None else start.numbers
        if example not in known:
            raise UsageError(f"There is no example {example}: {start.examples} are loaded")
        first = self._next[example]
        self._next[example] += count
        return list(range(first, first + count))

    async def rollouts(self, example: int, numbers: list[int]) -> AsyncGenerator[T, None]:
        """These rollouts, each as it finishes; leaving early gives up the others.

        Raises the failure of the session.
        """
        await self.loaded()
        answers: asyncio.Queue[T | BaseException] = asyncio.Queue()
        seat = min(self._seats, key=lambda each: len(each.owed))
        for number in numbers:
            seat.owed[example, number] = _Owed(tuple(numbers), answers)
        try:
            await self._tell(seat, RunRollouts(example, numbers))
            for _ in numbers:
                answer = await answers.get()
                if isinstance(answer, BaseException):
                    raise answer
                yield answer
        finally:
            left = [n for n in numbers if seat.owed.pop((example, n), None) is not None]
            for number in left:
                self._keeper.forget(example, number)
            if left:
                await self._tell(seat, DropRollouts(example, left))

    # --- What others ask of it ---

    async def steer(self, concurrency: int | None, *, is_held: bool) -> None:
        """Have each worker run that many at a time (None: as before), none while held."""
        self._concurrency, self._is_held = concurrency or self._concurrency, is_held
        for seat in self._seats:
            await self._tell(seat, Steer(concurrency, held=is_held))

    def owes(self, example: int, rollout: int | None) -> bool:
        """Whether somebody waits for a rollout, or for any of an example."""
        return any(self._named(seat, example, rollout) for seat in self._seats)

    async def cancel(self, example: int, rollout: int | None, by: str) -> list[RolloutKey]:
        """End what is named, and of a group the others too; returns which those were."""
        ended = []
        for seat in self._seats:
            named = self._named(seat, example, rollout)
            for pair in named:
                owed = seat.owed.pop(pair)
                owed.answers.put_nowait(self._keeper.keep_cancelled(*pair, owed.attempt, by))
            if named:
                await self._tell(seat, DropRollouts(example, [number for _, number in named]))
            ended += named
        return ended

    def _named(self, seat: _Seat[T], example: int, rollout: int | None) -> list[RolloutKey]:
        owed = {pair: each for pair, each in seat.owed.items() if pair[0] == example}
        if rollout is None:
            return list(owed)
        by_group = self.start is not None and self.start.unit == "group"
        if by_group and (example, rollout) in owed:
            unit = owed[example, rollout].unit
            return [pair for pair in owed if pair[1] in unit]
        return [pair for pair in owed if pair[1] == rollout]

    # --- The workers ---

    async def run(self) -> None:
        """Keep the workers alive until `finish`; raises what ends the session before."""
        living = [asyncio.ensure_future(self._keep_alive(seat)) for seat in self._seats]
        try:
            await asyncio.gather(*living)
        except BaseException as error:
            stopped = isinstance(error, asyncio.CancelledError)
            self._failure = EnvironmentFailed("The session has ended") if stopped else error
            raise
        finally:
            for task in living:
                task.cancel()
            await asyncio.gather(*living, return_exceptions=True)
            self._failure = self._failure or EnvironmentFailed("The session has ended")
            self._loaded.set()
            for seat in self._seats:
                for owed in seat.owed.values():
                    owed.answers.put_nowait(self._failure)

    async def finish(self) -> None:
        """Ask for nothing else: the workers end once they owe nothing."""
        self._finishing = True
        for seat in self._seats:
            await self._tell(seat, Finish())

    async def _keep_alive(self, seat: _Seat[T]) -> None:
        while True:
            try:
                await self._live(seat)
            except WorkerDied as death:
                # One that died while it loaded was not asked for anything.
                in_flight = [] if seat.worker is None else self._in_flight(seat)
                seat.worker = None
                self._after(seat, in_flight, death)
                if len(self._seats) == 1:
                    # Otherwise nobody knows whose they are.
                    await self._keeper.end_sandboxes()
            else:
                return

    async def _live(self, seat: _Seat[T]) -> None:
        async with self._make_worker() as worker:
            async for event in worker.events():
                match event:
                    case Start():
                        self._begin(event)
                        seat.worker = worker
                        await self._ask_again(seat)
                    case Rollout():
                        self._deliver(seat, event)
                    case _:
                        failure = self._keeper.hear(event)
                        if isinstance(event, WorkerEnd) and not event.ok:
                            raise failure or EnvironmentFailed("The environment gave up")
        seat.worker = None

    def _begin(self, start: Start) -> None:
        self._keeper.hear(start)
        if self.start is None:
            self.start = start
            self._loaded.set()
        elif start.fingerprint != self.start.fingerprint:
            raise EnvironmentFailed(
                "The environment loads other examples each time",
                hint="make the data the same, with a fixed seed",
            )

    def _deliver(self, seat: _Seat[T], event: Rollout) -> None:
        owed = seat.owed.pop((event.example_id, event.rollout), None)
        if owed is None:  # given up meanwhile, or never asked for
            self._keeper.forget(event.example_id, event.rollout)
        else:
            owed.answers.put_nowait(self._keeper.keep(event))

    def _in_flight(self, seat: _Seat[T]) -> list[RolloutKey]:
        """What the worker had begun of all that it owed, as it takes things in order."""
        by_group = self.start is not None and self.start.unit == "group"
        units: dict[tuple[int, tuple[int, ...]], list[RolloutKey]] = {}
        for (example, number), owed in seat.owed.items():
            unit = owed.unit if by_group else (number,)
            units.setdefault((example, unit), []).append((example, number))
        begun: list[RolloutKey] = []
        for keys in units.values():
            if begun and len(begun) + len(keys) > self._concurrency:
                break
            begun += keys
        return begun

    def _after(self, seat: _Seat[T], in_flight: list[RolloutKey], death: WorkerDied) -> None:
        self._deaths += 1
        if self.start is None or self._deaths >= MOST_DEATHS:
            raise death
        self._progress.warn(f"{death.message}; restarting it", hint=death.hint)
        for example, rollout in in_flight:
            owed = seat.owed[example, rollout]
            owed.deaths += 1
            if owed.deaths >= DEATHS_OF_A_ROLLOUT:
                error = RolloutError(kind="environment", type="WorkerDied", message=death.message)
                lost = Rollout(
                    example_id=example, rollout=rollout, attempt=owed.attempt, error=error
                )
                self._deliver(seat, lost)
            else:
                owed.attempt += 1
                self._keeper.restart(example, rollout)

    async def _ask_again(self, seat: _Seat[T]) -> None:
        if self._is_held:
            await self._tell(seat, Steer(held=True))
        orders: dict[tuple[int, tuple[int, ...], int], list[int]] = {}
        for (example, number), owed in seat.owed.items():
            orders.setdefault((example, owed.unit, owed.attempt), []).append(number)
        for (example, _, attempt), numbers in orders.items():
            await self._tell(seat, RunRollouts(example, numbers, attempt))
        if self._finishing:
            await self._tell(seat, Finish())

    async def _tell(self, seat: _Seat[T], order: Order) -> None:
        if seat.worker is not None:
            await seat.worker.tell(order)
