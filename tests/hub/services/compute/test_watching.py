"""A served hub looks after pods by itself, one of its processes at a time."""

import asyncio
import logging
import threading
from pathlib import Path
from typing import Any

import pytest

from prime_cli.core.errors import Unreachable
from prime_cli.hub.compute.provider import PodStatus
from prime_cli.hub.services.compute.leaks import refresh_all, sweep_all
from prime_cli.hub.services.compute.providers import tag_prefix
from prime_cli.hub.serving.application import PodWatcher
from prime_cli.wire.pods import ACTIVE
from tests.hub.house import House
from tests.hub.services.compute.renting import Yard


class Rounds:
    """Waits that are over at once, as many as there are; the time goes on by each."""

    def __init__(self, yard: Yard, count: int) -> None:
        self.left = count
        self._yard = yard

    def __call__(self, seconds: float) -> bool:
        self.left -= 1
        self._yard.house.clock.wait(seconds=seconds)
        return self.left < 0


async def _nothing(_scope: Any, _receive: Any, _send: Any) -> None:
    return None


def test_what_is_past_its_deadline_is_ended_though_nobody_asks(yard: Yard) -> None:
    yard.arrive(yard.rent(stopAt="2026-11-21T12:01:00Z"))
    watch = PodWatcher(_nothing, yard.house.hub)
    watch.watch(Rounds(yard, 1))
    assert len(yard.machines.seen) == 1
    watch.watch(Rounds(yard, 1))
    assert yard.machines.seen == {}


def test_a_hub_sweeps_when_it_starts(yard: Yard, caplog: pytest.LogCaptureFixture) -> None:
    tag = f"{tag_prefix(yard.house.hub)}0123456789ab"
    yard.machines.seen[tag] = PodStatus(ACTIVE)
    with caplog.at_level(logging.WARNING):
        PodWatcher(_nothing, yard.house.hub).watch(Rounds(yard, 0))
    assert yard.machines.seen == {}
    assert f"machine without a pod: {tag} of `paper`: ended" in caplog.text


def test_a_provider_that_is_silent_when_a_hub_sweeps_is_told_by_its_name(
    yard: Yard, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_prefix: str) -> Any:
        raise Unreachable("The cloud is down")

    yard.machines.list_tags = fail  # type: ignore[method-assign, assignment]
    with caplog.at_level(logging.WARNING):
        PodWatcher(_nothing, yard.house.hub).watch(Rounds(yard, 0))
    assert "provider that does not answer: paper: The cloud is down" in caplog.text


def test_a_hub_that_is_started_again_at_once_sweeps_a_round_later(yard: Yard) -> None:
    """What the one before it was making when it was killed."""
    hub = yard.house.hub
    assert sweep_all(hub, 30) is not None
    yard.house.clock.wait(seconds=3)
    yard.machines.seen[f"{tag_prefix(hub)}0123456789ab"] = PodStatus(ACTIVE)
    PodWatcher(_nothing, hub).watch(Rounds(yard, 1))
    assert yard.machines.seen == {}


def test_of_several_processes_one_looks(folder: Path, yard: Yard) -> None:
    other = House(folder, clock=yard.house.clock, providers=(yard.machines,))
    hubs = (yard.house.hub, other.hub)
    assert [refresh_all(hub, 30) for hub in hubs] == [True, False]
    assert [sweep_all(hub, 30) is not None for hub in hubs] == [True, False]
    yard.house.clock.wait(seconds=30)
    assert [refresh_all(hub, 30) for hub in reversed(hubs)] == [True, False]


def test_a_clock_that_was_wrong_does_not_stop_the_watch(yard: Yard) -> None:
    yard.house.clock.wait(days=300)
    assert refresh_all(yard.house.hub, 30)
    yard.house.clock.wait(days=-300)
    assert refresh_all(yard.house.hub, 30)


@pytest.mark.parametrize("error", [Unreachable("The cloud is down"), KeyError("a bug")])
def test_what_fails_is_logged_and_the_watch_goes_on(
    yard: Yard, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    yard.arrive(yard.rent(stopAt="2026-11-21T12:01:00Z"))
    look, failures = yard.machines.inspect, [error]

    def fail_once(tags: Any) -> Any:
        if failures:
            raise failures.pop()
        return look(tags)

    yard.machines.inspect = fail_once  # type: ignore[method-assign]
    with caplog.at_level(logging.WARNING):
        PodWatcher(_nothing, yard.house.hub).watch(Rounds(yard, 2))
    assert yard.machines.seen == {}
    assert "`paper`" in caplog.text


def test_the_thread_lives_as_long_as_the_application(yard: Yard) -> None:
    yard.arrive(yard.rent())
    yard.house.clock.wait(days=2)
    gone = threading.Event()
    end = yard.machines.end

    def note(tag: str) -> None:
        end(tag)
        gone.set()

    async def live(_scope: Any, _receive: Any, _send: Any) -> None:
        await asyncio.to_thread(gone.wait, 60)

    yard.machines.end = note  # type: ignore[method-assign]
    served = PodWatcher(live, yard.house.hub, seconds=0.01)
    asyncio.run(served({"type": "lifespan"}, _unasked, _unasked))  # type: ignore[arg-type]
    assert yard.machines.seen == {}


async def _unasked(*_args: Any) -> Any:
    raise AssertionError
