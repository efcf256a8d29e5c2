"""Rollouts on demand: each once, also when workers die, and none for those who left."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

import pytest

from prime_cli.core.errors import EnvironmentFailed, PrimeError, UsageError, WorkerDied
from prime_cli.core.progress import Silent
from prime_cli.runtime.protocol import (
    DropRollouts,
    Event,
    Finish,
    Order,
    Rollout,
    RunRollouts,
    Start,
    Steer,
    WorkerEnd,
)
from prime_cli.training.demand import Demand
from tests.helpers.gateway_client import run

Unit = Literal["rollout", "group", "episode"]


class ScriptedWorker:
    """Runs nothing: the test says what it `says`, and sees the `orders` that it got."""

    def __init__(self) -> None:
        self.orders: list[Order] = []
        self._said: asyncio.Queue[Event | Exception] = asyncio.Queue()
        self.is_over = False

    def says(self, *events: Event | Exception) -> None:
        for event in events:
            self._said.put_nowait(event)

    async def events(self) -> AsyncIterator[Event]:
        while True:
            event = await self._said.get()
            if isinstance(event, Exception):
                raise event
            yield event
            if isinstance(event, WorkerEnd):
                return

    async def tell(self, order: Order) -> None:
        self.orders.append(order)

    async def finished(self, example: int, *rollouts: int, attempt: int = 1) -> None:
        for rollout in rollouts:
            self.says(Rollout(example_id=example, rollout=rollout, attempt=attempt, reward=1.0))
        await turns()


async def turns() -> None:
    """Let everything happen that can."""
    for _ in range(20):
        await asyncio.sleep(0)


@dataclass
class Kept:
    """A keeper that hands out the rollouts themselves, and what was told of others."""

    kept: list[tuple[int, int, int]] = field(default_factory=list)
    forgotten: list[tuple[int, int]] = field(default_factory=list)
    restarted: list[tuple[int, int]] = field(default_factory=list)
    times_ended: int = 0
    """How often sandboxes were to end."""

    def keep(self, event: Rollout) -> Rollout:
        self.kept.append((event.example_id, event.rollout, event.attempt))
        return event

    def keep_cancelled(self, example: int, rollout: int, attempt: int, by: str) -> Rollout:
        return Rollout(example_id=example, rollout=rollout, attempt=attempt, info={"by": by})

    def restart(self, example: int, rollout: int) -> None:
        self.restarted.append((example, rollout))

    def forget(self, example: int, rollout: int) -> None:
        self.forgotten.append((example, rollout))

    async def end_sandboxes(self) -> None:
        self.times_ended += 1

    def hear(self, event: Event) -> PrimeError | None:
        return (
            EnvironmentFailed("no data") if isinstance(event, WorkerEnd) and not event.ok else None
        )


class Stage:
    """A demand whose workers the test speaks for; `ended` is what its `run` ended with."""

    def __init__(self, workers: int = 1, concurrency: int = 32) -> None:
        self.workers: list[ScriptedWorker] = []
        self.keeper = Kept()
        self.progress = Silent()
        self.demand = Demand(
            self._make, self.keeper, self.progress, workers=workers, concurrency=concurrency
        )
        self.ended: BaseException | None = None

    @asynccontextmanager
    async def _make(self) -> AsyncIterator[ScriptedWorker]:
        worker = ScriptedWorker()
        self.workers.append(worker)
        try:
            yield worker
        finally:
            worker.is_over = True

    async def asked(self, example: int, count: int) -> "asyncio.Task[list[Rollout]]":
        """Ask for rollouts, and give the task that collects them."""
        numbers = await self.demand.numbers(example, count)

        async def collect() -> list[Rollout]:
            async with aclosing(self.demand.rollouts(example, numbers)) as rollouts:
                return [rollout async for rollout in rollouts]

        task = asyncio.ensure_future(collect())
        await turns()
        return task


def start(fingerprint: str = "same", unit: Unit = "rollout") -> Start:
    return Start(examples=3, planned=3, unit=unit, fingerprint=fingerprint)


def play(
    scenario: Callable[[Stage], Awaitable[None]],
    *,
    workers: int = 1,
    concurrency: int = 32,
    unit: Unit = "rollout",
) -> Stage:
    """Run `scenario` on a stage whose workers have loaded the environment."""

    async def played() -> Stage:
        stage = Stage(workers, concurrency)
        running = asyncio.ensure_future(stage.demand.run())
        await turns()
        for worker in stage.workers:
            worker.says(start(unit=unit))
        await turns()
        try:
            await scenario(stage)
        finally:
            running.cancel()
            (stage.ended,) = await asyncio.gather(running, return_exceptions=True)
        return stage

    return run(played())


def dead() -> WorkerDied:
    return WorkerDied("The environment's process died (SIGKILL)")


def numbers(rollouts: Iterable[Rollout]) -> list[int]:
    return sorted(rollout.rollout for rollout in rollouts)


def test_each_rollout_is_asked_for_once_and_numbers_are_not_reused() -> None:
    async def scenario(stage: Stage) -> None:
        (worker,) = stage.workers
        first, second = await stage.asked(1, 2), await stage.asked(1, 2)
        other = await stage.asked(2, 1)
        assert worker.orders == [
            RunRollouts(1, [0, 1]),
            RunRollouts(1, [2, 3]),
            RunRollouts(2, [0]),
        ]
        await worker.finished(1, 3, 0, 1, 2)
        await worker.finished(2, 0)
        assert [numbers(await task) for task in (first, second, other)] == [[0, 1], [2, 3], [0]]

    assert len(play(scenario).keeper.kept) == 5


def test_a_rollout_that_comes_twice_is_delivered_once() -> None:
    async def scenario(stage: Stage) -> None:
        task = await stage.asked(0, 2)
        await stage.workers[0].finished(0, 0, 0, 7, 1)
        assert numbers(await task) == [0, 1]

    stage = play(scenario)
    assert stage.keeper.kept == [(0, 0, 1), (0, 1, 1)]
    assert stage.keeper.forgotten == [(0, 0), (0, 7)]


def test_leaving_early_gives_up_the_others() -> None:
    async def scenario(stage: Stage) -> None:
        (worker,) = stage.workers
        task = await stage.asked(0, 3)
        await worker.finished(0, 1)
        task.cancel()
        await turns()
        assert worker.orders[-1] == DropRollouts(0, [0, 2])

    assert play(scenario).keeper.forgotten == [(0, 0), (0, 2)]


@pytest.mark.parametrize(("unit", "ended"), [("rollout", [1]), ("group", [0, 1, 2])])
def test_a_cancelled_rollout_is_answered_and_its_group_with_it(
    unit: Unit, ended: list[int]
) -> None:
    async def scenario(stage: Stage) -> None:
        (worker,) = stage.workers
        task, other = await stage.asked(1, 3), await stage.asked(1, 1)
        assert await stage.demand.cancel(1, 1, "ada") == [(1, number) for number in ended]
        assert worker.orders[-1] == DropRollouts(1, ended)
        assert not stage.demand.owes(1, 1)
        await worker.finished(1, 0, 1, 2, 3)
        by_ada = [each.rollout for each in await task if each.info == {"by": "ada"}]
        assert by_ada == ended
        assert numbers(await other) == [3]

    play(scenario, unit=unit)


def test_a_worker_that_begins_in_a_pause_is_held() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.demand.steer(4, is_held=True)
        assert stage.workers[0].orders == [Steer(4, held=True)]
        await stage.asked(0, 1)
        stage.workers[0].says(dead())
        await turns()
        stage.workers[1].says(start())
        await turns()
        assert stage.workers[1].orders == [Steer(held=True), RunRollouts(0, [0], 2)]

    play(scenario)


def test_after_a_death_the_same_numbers_are_asked_for_at_a_higher_attempt() -> None:
    async def scenario(stage: Stage) -> None:
        task = await stage.asked(0, 3)
        await stage.workers[0].finished(0, 1)
        stage.workers[0].says(dead())
        await turns()
        first, second = stage.workers
        assert first.is_over
        second.says(start())
        await turns()
        assert second.orders == [RunRollouts(0, [0, 2], 2)]
        await second.finished(0, 0, 2, attempt=2)
        assert numbers(await task) == [0, 1, 2]

    stage = play(scenario)
    assert stage.keeper.kept == [(0, 1, 1), (0, 0, 2), (0, 2, 2)]
    assert stage.keeper.restarted == [(0, 0), (0, 2)]
    assert "restarting it" in stage.progress.warned[0]


@pytest.mark.parametrize(("workers", "times"), [(1, 1), (2, 0)])
def test_sandboxes_end_with_a_worker_that_dies_alone(workers: int, times: int) -> None:
    async def scenario(stage: Stage) -> None:
        stage.workers[0].says(dead())
        await turns()

    assert play(scenario, workers=workers).keeper.times_ended == times


def test_what_is_asked_between_two_workers_waits_for_the_next() -> None:
    async def scenario(stage: Stage) -> None:
        stage.workers[0].says(dead())
        await turns()
        task = await stage.asked(2, 1)
        stage.workers[1].says(start())
        await turns()
        assert stage.workers[1].orders == [RunRollouts(2, [0])]
        await stage.workers[1].finished(2, 0)
        assert numbers(await task) == [0]

    play(scenario)


def test_a_rollout_in_flight_at_two_deaths_is_an_error() -> None:
    async def scenario(stage: Stage) -> None:
        task = await stage.asked(0, 1)
        for worker in (0, 1):
            stage.workers[worker].says(dead())
            await turns()
            stage.workers[worker + 1].says(start())
            await turns()
        (lost,) = await task
        assert lost.error is not None
        assert (lost.error.type, lost.attempt, lost.reward) == ("WorkerDied", 2, None)
        assert stage.workers[2].orders == []

    play(scenario)


def test_what_had_not_begun_when_a_worker_died_is_asked_for_in_order_and_not_blamed() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.asked(2, 3)
        await stage.asked(0, 1)
        for worker in (0, 1):
            stage.workers[worker].says(dead())
            await turns()
            stage.workers[worker + 1].says(start())
            await turns()
        assert stage.workers[1].orders == [
            RunRollouts(2, [0, 1], 2),
            RunRollouts(2, [2]),
            RunRollouts(0, [0]),
        ]
        assert stage.workers[2].orders == [RunRollouts(2, [2]), RunRollouts(0, [0])]

    stage = play(scenario, concurrency=2)
    assert stage.keeper.kept == [(2, 0, 2), (2, 1, 2)]
    assert stage.keeper.restarted == [(2, 0), (2, 1)]


def test_a_group_is_in_flight_as_a_whole_however_large_it_is() -> None:
    async def scenario(stage: Stage) -> None:
        for example in (1, 0):
            await stage.asked(example, 3)
        stage.workers[0].says(dead())
        await turns()
        stage.workers[1].says(start(unit="group"))
        await turns()
        again = [RunRollouts(1, [0, 1, 2], 2), RunRollouts(0, [0, 1, 2])]
        assert stage.workers[1].orders == again

    play(scenario, concurrency=2, unit="group")


def test_a_worker_that_dies_while_it_loads_had_nothing_in_flight() -> None:
    async def scenario(stage: Stage) -> None:
        task = await stage.asked(0, 1)
        for worker in (0, 1):
            stage.workers[worker].says(dead())
            await turns()
        stage.workers[2].says(start())
        await turns()
        assert stage.workers[2].orders == [RunRollouts(0, [0], 2)]
        await stage.workers[2].finished(0, 0, attempt=2)
        assert numbers(await task) == [0]

    play(scenario)


def test_five_deaths_end_the_session_and_all_who_wait() -> None:
    async def scenario(stage: Stage) -> None:
        for death in range(4):
            stage.workers[death].says(dead())
            await turns()
            stage.workers[death + 1].says(start())
            await turns()
        task = await stage.asked(0, 1)
        stage.workers[4].says(dead())
        with pytest.raises(WorkerDied):
            await task
        with pytest.raises(WorkerDied):
            await stage.demand.numbers(0, 1)

    assert isinstance(play(scenario).ended, WorkerDied)


def test_what_fails_while_loading_is_told_to_all() -> None:
    async def scenario() -> None:
        stage = Stage()
        running = asyncio.ensure_future(stage.demand.run())
        await turns()
        stage.workers[0].says(WorkerEnd(ok=False, stage="load"))
        with pytest.raises(EnvironmentFailed, match="no data"):
            await stage.demand.loaded()
        with pytest.raises(EnvironmentFailed, match="no data"):
            await running

    run(scenario())


def test_other_examples_after_a_restart_end_the_session() -> None:
    async def scenario(stage: Stage) -> None:
        stage.workers[0].says(dead())
        await turns()
        stage.workers[1].says(start("other"))
        await turns()

    assert "other examples" in str(play(scenario).ended)


def test_several_workers_share_what_is_asked_for() -> None:
    async def scenario(stage: Stage) -> None:
        one, two = stage.workers
        first, second = await stage.asked(0, 2), await stage.asked(1, 2)
        assert one.orders == [RunRollouts(0, [0, 1])]
        assert two.orders == [RunRollouts(1, [0, 1])]
        two.says(dead())
        await turns()
        await one.finished(0, 0, 1)
        assert numbers(await first) == [0, 1]
        stage.workers[2].says(start())
        await turns()
        await stage.workers[2].finished(1, 0, 1, attempt=2)
        assert numbers(await second) == [0, 1]
        assert len(one.orders) == 1

    play(scenario, workers=2)


@pytest.mark.parametrize("known", [None, [4, 9]])
def test_an_unknown_example_is_refused(known: list[int] | None) -> None:
    async def scenario(stage: Stage) -> None:
        assert stage.demand.start is not None
        stage.demand.start.numbers = known
        with pytest.raises(UsageError, match="no example 3"):
            await stage.demand.numbers(3, 1)

    play(scenario)


def test_finishing_ends_the_workers_once_they_owe_nothing() -> None:
    async def scenario(stage: Stage) -> None:
        await stage.demand.finish()
        assert stage.workers[0].orders == [Finish()]
        stage.workers[0].says(WorkerEnd(ok=True))
        await turns()

    assert play(scenario).ended is None
