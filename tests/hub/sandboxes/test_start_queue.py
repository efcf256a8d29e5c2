"""Sandboxes whose start commands work start in turn."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

import pytest

from prime_cli.core.errors import NotFound
from prime_cli.hub.sandboxes.bubblewrap.provider import BubblewrapProvider
from prime_cli.hub.sandboxes.provider import (
    End,
    ExecSpec,
    RunningCommand,
    SandboxSpec,
    WatchedSandbox,
)
from prime_cli.hub.sandboxes.supervisor import start_queue
from prime_cli.hub.sandboxes.supervisor.manager import ManagedSandbox, SandboxManager
from prime_cli.hub.sandboxes.supervisor.start_queue import StartQueue
from tests.helpers.sandboxes import IMAGE
from tests.helpers.tools import needs_bubblewrap


class Worker:
    """A sandbox that works until it is told to wait."""

    facts: ClassVar[dict[str, str]] = {}

    def __init__(self) -> None:
        self.is_busy, self.is_gone = True, False

    async def run(self, _spec: ExecSpec) -> RunningCommand:
        raise NotFound("it runs nothing")

    async def gone(self) -> End:
        await asyncio.Event().wait()
        raise NotImplementedError

    async def end(self) -> None:
        self.is_gone = True


class Workshop:
    """A provider of them."""

    name = "workshop"

    def __init__(self) -> None:
        self.made: list[Worker] = []

    async def check(self, _spec: SandboxSpec, *, may_fetch: bool) -> tuple[str, ...]:
        return ("fetched",) if may_fetch else ()

    async def create(self, _spec: SandboxSpec) -> Worker:
        self.made.append(Worker())
        return self.made[-1]

    async def list_tags(self, _prefix: str) -> tuple[str, ...]:
        return ()

    async def remove(self, tag: str) -> None:
        """Nothing is left."""


class Scene:
    """A supervisor whose machine has one CPU."""

    def __init__(self, folder: Path) -> None:
        self.workshop = Workshop()
        self.manager = SandboxManager({"workshop": self.workshop}, folder, StartQueue(1))

    async def ask(self, number: int, *, start: tuple[str, ...] = ("work",)) -> ManagedSandbox:
        spec = SandboxSpec(f"prime-1-{number}", str(number), "any", 2e9, start=start)
        return await self.manager.create("workshop", spec, 0)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110 - it is a state of processes
            await asyncio.sleep(0.005)


def test_the_next_one_starts_when_the_one_before_waits(tmp_path: Path) -> None:
    async def scenario() -> None:
        scene = Scene(tmp_path)
        first, second = await scene.ask(1), await scene.ask(2)
        await first.ready.wait()
        assert (first.state.status, second.state.status) == ("RUNNING", "PENDING")
        assert len(scene.workshop.made) == 1
        scene.workshop.made[0].is_busy = False
        await second.ready.wait()
        assert second.state.status == "RUNNING"
        await scene.manager.end_all()

    asyncio.run(asyncio.wait_for(scenario(), 20))


def test_one_without_a_start_command_does_not_wait(tmp_path: Path) -> None:
    async def scenario() -> None:
        scene = Scene(tmp_path)
        await (await scene.ask(1)).ready.wait()
        await (await scene.ask(2, start=())).ready.wait()
        await scene.manager.end_all()

    asyncio.run(asyncio.wait_for(scenario(), 20))


def test_one_that_ends_or_is_not_wanted_any_more_leaves_its_turn(tmp_path: Path) -> None:
    async def scenario() -> None:
        scene = Scene(tmp_path)
        first, second, third = [await scene.ask(number) for number in (1, 2, 3)]
        await first.ready.wait()
        await second.end()
        assert second.state.status == "TERMINATED"
        await first.end()
        await third.ready.wait()
        assert len(scene.workshop.made) == 2
        await scene.manager.end_all()

    asyncio.run(asyncio.wait_for(scenario(), 20))


def test_one_that_works_for_ever_does_not_keep_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        scene = Scene(tmp_path)
        await scene.ask(1)
        await (await scene.ask(2)).ready.wait()
        # Whoever has waited for long goes on, whatever the one before does.
        monkeypatch.setattr(start_queue, "_MOST_POLLS", 10**9)
        monkeypatch.setattr(start_queue, "_WAIT_SECONDS", 0.01)
        await (await scene.ask(3)).ready.wait()
        await scene.manager.end_all()

    monkeypatch.setattr(start_queue, "_MOST_POLLS", 2)
    asyncio.run(asyncio.wait_for(scenario(), 20))


@needs_bubblewrap
def test_a_sandbox_of_bubblewrap_says_whether_it_works(tmp_path: Path) -> None:
    async def scenario() -> None:
        manager = SandboxManager({"bubblewrap": BubblewrapProvider()}, tmp_path)
        start = ("sh", "-c", "until [ -e /tmp/enough ]; do :; done; sleep 600")
        spec = SandboxSpec("prime-turns-1", "turns", IMAGE, 2e9, start=start)
        held = await manager.create("bubblewrap", spec, 20)
        running = held.running
        assert isinstance(running, WatchedSandbox)
        await until(lambda: running.is_busy)
        command = await running.run(ExecSpec(("touch", "/tmp/enough")))
        assert await command.wait() == 0
        command.close()
        await until(lambda: not running.is_busy)
        await manager.end_all()

    asyncio.run(asyncio.wait_for(scenario(), 60))


@pytest.mark.parametrize("ticks", range(5))
def test_who_gives_up_in_the_moment_of_its_turn_goes_no_further(ticks: int) -> None:
    async def scenario() -> None:
        queue = StartQueue(1)
        first, second, third = queue.slot(), queue.slot(), queue.slot()
        await first.acquire()
        taking = asyncio.create_task(second.acquire())
        await asyncio.sleep(0.01)
        first.release()
        for _ in range(ticks):
            await asyncio.sleep(0)
        if taking.cancel():
            with pytest.raises(asyncio.CancelledError):
                await taking
        second.release()
        await asyncio.wait_for(third.acquire(), 5)
        third.release()

    asyncio.run(scenario())


class Stubborn(Workshop):
    """One that makes what it has begun."""

    async def create(self, spec: SandboxSpec) -> Worker:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        return await super().create(spec)

    async def remove(self, _tag: str) -> None:
        """It knows no tags."""


def test_a_sandbox_that_is_made_although_it_was_given_up_is_ended(tmp_path: Path) -> None:
    async def scenario() -> None:
        workshop = Stubborn()
        manager = SandboxManager({workshop.name: workshop}, tmp_path)
        spec = SandboxSpec("prime-test-late", "late", IMAGE, time.time() + 60)
        box = await manager.create(workshop.name, spec, 0.01)
        await asyncio.wait_for(box.end(), 20)
        assert [each.is_gone for each in workshop.made] == [True]

    asyncio.run(scenario())
