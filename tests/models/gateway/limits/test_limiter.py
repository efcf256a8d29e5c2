"""Slots at an endpoint: fewer when it objects, more when it does not, never stuck."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from prime_cli.models.gateway.limits.endpoint_limits import LONGEST_PAUSE_S, QUIET_SECONDS, Limiter
from prime_cli.models.gateway.limits.shared_state import open_state
from tests.helpers.gateway_client import run


class Clock:
    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def limiter(clock: Clock) -> Iterator[Limiter]:
    limiter = Limiter(open_state(None, ""), clock=clock)
    yield limiter
    limiter.close()


async def enter(limiter: Limiter, count: int) -> list[float]:
    return [await limiter.enter() for _ in range(count)]


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_calls_wait_only_after_the_endpoint_refuses(limiter: Limiter) -> None:
    run(enter(limiter, 500))
    assert (limiter.running, limiter.waiting, limiter.limit) == (500, 0, 0)


def test_a_burst_of_refusals_halves_once(limiter: Limiter, clock: Clock) -> None:
    entered = run(enter(limiter, 64))
    clock.now += 1
    for moment in entered:
        limiter.refused(moment)
        limiter.leave()
    assert limiter.limit == 32


def test_the_next_burst_halves_again_and_one_call_always_may(
    limiter: Limiter, clock: Clock
) -> None:
    limits = []
    for _ in range(8):
        clock.now += 1
        entered = run(enter(limiter, limiter.limit or 64))
        clock.now += 1
        for moment in entered:
            limiter.refused(moment)
            limiter.leave()
        limits.append(limiter.limit)
    assert limits == [32, 16, 8, 4, 2, 1, 1, 1]


def cut_to_one(limiter: Limiter, clock: Clock) -> None:
    (entered,) = run(enter(limiter, 1))
    clock.now += 1
    limiter.refused(entered)
    limiter.leave()
    assert limiter.limit == 1


def test_success_raises_slowly(limiter: Limiter, clock: Clock) -> None:
    cut_to_one(limiter, clock)
    seen = []
    for _ in range(16):
        limiter.succeeded()
        seen.append(limiter.limit)
    assert seen[0] == 2
    assert seen == sorted(seen)
    assert 4 <= seen[-1] <= 7  # 2 + 3 + 4 + … successes for each step


def test_a_quiet_minute_doubles_it_so_that_it_cannot_freeze(limiter: Limiter, clock: Clock) -> None:
    cut_to_one(limiter, clock)
    limits = []
    for _ in range(13):
        clock.now += QUIET_SECONDS
        limits.append(limiter.limit)
    assert limits[:4] == [2, 4, 8, 16]
    assert limits[-1] == 0  # so large that it is none


def test_waiting_calls_come_in_as_slots_are_given_back(limiter: Limiter, clock: Clock) -> None:
    async def scenario() -> list[str]:
        came: list[str] = []

        async def caller(name: str, *, urgent: bool) -> None:
            await limiter.enter(urgent=urgent)
            came.append(name)

        cut_alone(limiter, clock)
        await limiter.enter()
        tasks = []
        for name in ("first", "second", "judge"):
            tasks.append(asyncio.create_task(caller(name, urgent=name == "judge")))
            await settle()
        assert (limiter.running, limiter.waiting, came) == (1, 3, [])
        for _ in tasks:
            limiter.leave()
            await settle()
        limiter.leave()
        await asyncio.gather(*tasks)
        return came

    assert run(scenario()) == ["judge", "first", "second"]


def cut_alone(limiter: Limiter, clock: Clock) -> None:
    limiter._take()
    entered = clock.now
    clock.now += 1
    limiter.refused(entered)
    limiter.leave()


def test_who_gives_up_waiting_leaves_no_slot_behind(limiter: Limiter, clock: Clock) -> None:
    async def scenario() -> None:
        cut_alone(limiter, clock)
        await limiter.enter()
        waiting = [asyncio.create_task(limiter.enter()) for _ in range(3)]
        await settle()
        waiting[0].cancel()
        limiter.leave()  # the second is let in, and gives up at the same moment
        waiting[1].cancel()
        await settle()
        assert await waiting[2]
        assert (limiter.running, limiter.waiting) == (1, 0)
        await asyncio.gather(*waiting, return_exceptions=True)

    run(scenario())


def test_a_pause_holds_all_calls_and_ends(limiter: Limiter, clock: Clock) -> None:
    async def scenario() -> None:
        limiter.pause_for(0.2)
        limiter.pause_for(0.1)  # a shorter one does not shorten it
        assert limiter.pause == pytest.approx(0.2, abs=0.01)
        waiting = [asyncio.create_task(limiter.enter()) for _ in range(5)]
        await settle()
        assert (limiter.running, limiter.waiting) == (0, 5)
        clock.now += 1
        await asyncio.gather(*waiting)
        assert limiter.running == 5

    run(scenario())


@pytest.mark.parametrize("moment", [1e300, float("nan"), float("inf"), -1.0])
def test_an_absurd_pause_is_ignored(limiter: Limiter, clock: Clock, moment: float) -> None:
    limiter._state.paused_until = moment
    assert limiter.pause == 0
    limiter.pause_for(5)
    assert limiter.pause == pytest.approx(5)


def test_a_pause_of_hours_is_ignored_so_that_the_run_ends(limiter: Limiter) -> None:
    limiter.pause_for(LONGEST_PAUSE_S + 1)
    assert limiter.pause == 0


def test_a_clock_that_is_set_back_freezes_nothing(limiter: Limiter, clock: Clock) -> None:
    cut_to_one(limiter, clock)
    limiter.pause_for(30)
    clock.now -= 7200
    assert limiter.pause == 0
    entered = run(enter(limiter, 1))
    limiter.refused(entered[0])
    limiter.leave()
    clock.now += QUIET_SECONDS
    assert limiter.limit == 2


def test_a_limit_is_learned_by_all_and_kept_for_the_next(tmp_path: Path, clock: Clock) -> None:
    one, two = (Limiter(open_state(tmp_path, "e"), clock=clock) for _ in range(2))
    entered = run(enter(one, 8))
    clock.now += 1
    one.refused(entered[0])
    assert two.limit == 4
    one.pause_for(5)
    assert two.pause == pytest.approx(5)
    one.close()
    two.close()
    later = Limiter(open_state(tmp_path, "e"), clock=clock)
    assert later.limit == 4
    later.close()


def test_processes_divide_a_limit(tmp_path: Path, clock: Clock) -> None:
    async def scenario() -> None:
        one, two = (Limiter(open_state(tmp_path, "e"), clock=clock) for _ in range(2))
        entered = await enter(one, 16)
        clock.now += 1
        one.refused(entered[0])
        assert one.limit == 8
        late = [asyncio.create_task(two.enter()) for _ in range(8)]
        mine = [asyncio.create_task(one.enter()) for _ in range(8)]
        await settle()
        assert two.running == 0  # sixteen are still at an endpoint that bears eight
        for _ in range(16):
            one.leave()
            await settle()
        for _ in range(200):
            await asyncio.sleep(0.02)
            if (one.running, two.running) == (4, 4):
                break
        assert (one.running, two.running) == (4, 4)
        assert (one.waiting, two.waiting) == (4, 4)
        for task in (*late, *mine):
            task.cancel()
        await asyncio.gather(*late, *mine, return_exceptions=True)
        one.close()
        two.close()

    run(scenario())
