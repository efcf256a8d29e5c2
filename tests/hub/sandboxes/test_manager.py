"""Sandboxes that a supervisor holds, by a provider that is never done."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import ClassVar

import psutil
import pytest

from prime_cli.core.errors import ImagePullFailed, NotFound, Unreachable
from prime_cli.hub.sandboxes.provider import (
    End,
    ExecSpec,
    RunningCommand,
    RunningSandbox,
    SandboxSpec,
)
from prime_cli.hub.sandboxes.supervisor import manager
from prime_cli.hub.sandboxes.supervisor.manager import SandboxManager


class Endless:
    """A provider that fetches an image for ever."""

    name = "endless"

    def __init__(self) -> None:
        self.removed: list[str] = []

    async def check(self, _spec: SandboxSpec, *, may_fetch: bool) -> tuple[str, ...]:
        return ("fetched",) if may_fetch else ()

    async def create(self, _spec: SandboxSpec) -> RunningSandbox:
        await asyncio.Event().wait()
        raise NotImplementedError

    async def list_tags(self, _prefix: str) -> Collection[str]:
        return ()

    async def remove(self, tag: str) -> None:
        self.removed.append(tag)


def test_a_sandbox_ends_while_its_image_is_fetched(tmp_path: Path) -> None:
    provider = Endless()

    async def scenario() -> str:
        sandboxes = SandboxManager({"endless": provider}, tmp_path)
        spec = SandboxSpec("prime-1-2", "2", "big:latest", stop_at=2e9)
        held = await sandboxes.create("endless", spec, 0.01)
        assert held.state.status == "PENDING"
        await asyncio.wait_for(held.end(), 5)
        return held.state.status

    assert asyncio.run(scenario()) == "TERMINATED"
    assert provider.removed == ["prime-1-2"]


class Restarting(Endless):
    """A provider whose engine is restarted when something is to be removed, and then answers."""

    def __init__(self) -> None:
        super().__init__()
        self.is_rid = asyncio.Event()

    async def create(self, _spec: SandboxSpec) -> RunningSandbox:
        return Unremovable()

    async def remove(self, tag: str) -> None:
        await super().remove(tag)
        self.is_rid.set()


class Unremovable:
    """A sandbox that runs until it is to end."""

    facts: ClassVar[dict[str, str]] = {}
    is_gone = False

    async def run(self, _spec: ExecSpec) -> RunningCommand:
        raise NotFound("it runs nothing")

    async def gone(self) -> End:
        await asyncio.Event().wait()
        raise NotImplementedError

    async def end(self) -> None:
        raise Unreachable("No container engine answers")


def test_a_sandbox_whose_engine_does_not_answer_is_ended_and_removed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manager, "_TRIES_AFTER", (0.01,))
    provider = Restarting()

    async def scenario() -> str:
        sandboxes = SandboxManager({"restarting": provider}, tmp_path)
        spec = SandboxSpec("prime-1-2", "2", "any", stop_at=2e9)
        held = await sandboxes.create("restarting", spec, 5)
        await asyncio.wait_for(held.end(), 5)
        await asyncio.wait_for(provider.is_rid.wait(), 5)
        return held.state.status

    assert asyncio.run(scenario()) == "TERMINATED"
    assert provider.removed == ["prime-1-2"]


class Punctual(Unremovable):
    """A sandbox that ends at its time before its supervisor has looked at the clock."""

    async def gone(self) -> End:
        return End("TERMINATED", "its first process was ended")

    async def end(self) -> None:
        """Nothing is left."""


class Ending(Endless):
    """A provider of sandboxes that end at once."""

    async def create(self, _spec: SandboxSpec) -> RunningSandbox:
        return Punctual()


@pytest.mark.parametrize(("stop_at", "status"), [(1.0, "TIMEOUT"), (2e9, "TERMINATED")])
def test_a_sandbox_that_ends_by_itself_at_its_time_is_out_of_time(
    tmp_path: Path, stop_at: float, status: str
) -> None:
    async def scenario() -> tuple[str, str | None]:
        sandboxes = SandboxManager({"ending": Ending()}, tmp_path)
        held = await sandboxes.create("ending", SandboxSpec("prime-1-2", "2", "any", stop_at), 5)
        await asyncio.wait_for(held.ended.wait(), 5)
        return held.state.status, held.state.error_type

    assert asyncio.run(scenario()) == (status, status)


class Lasting(Punctual):
    """A sandbox that runs until it is to end, and then does."""

    async def gone(self) -> End:
        return await Unremovable.gone(self)


class Willing(Endless):
    """A provider of sandboxes that run."""

    async def create(self, _spec: SandboxSpec) -> RunningSandbox:
        return Lasting()


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps nothing of a process that has ended")
def test_a_sandbox_ends_with_its_process_although_nobody_waits_for_that(tmp_path: Path) -> None:
    async def scenario(pid: int) -> str | None:
        sandboxes = SandboxManager({"willing": Willing()}, tmp_path)
        spec = SandboxSpec("prime-1-2", "2", "any", stop_at=2e9, process=pid)
        held = await sandboxes.create("willing", spec, 5)
        await asyncio.wait_for(held.ended.wait(), 10)
        return held.state.error_message

    with subprocess.Popen((sys.executable, "-c", "")) as owner:
        message = asyncio.run(scenario(owner.pid))
        assert psutil.Process(owner.pid).status() == psutil.STATUS_ZOMBIE
    assert message == "the process that it was for has ended"


class Unfetching(Endless):
    """A provider whose registry does not have the image."""

    async def create(self, _spec: SandboxSpec) -> RunningSandbox:
        raise ImagePullFailed("not there")


def test_a_sandbox_without_its_image_says_so(tmp_path: Path) -> None:
    async def scenario() -> tuple[str, str | None]:
        sandboxes = SandboxManager({"unfetching": Unfetching()}, tmp_path)
        held = await sandboxes.create("unfetching", SandboxSpec("prime-1-2", "2", "any", 2e9), 5)
        return held.state.status, held.state.error_type

    assert asyncio.run(scenario()) == ("ERROR", "IMAGE_PULL_FAILED")
