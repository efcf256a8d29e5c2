"""Sandboxes that a supervisor holds, by a provider that is never done."""

import asyncio
from collections.abc import Collection
from pathlib import Path

from prime_cli.hub.sandboxes.provider import RunningSandbox, SandboxSpec
from prime_cli.hub.sandboxes.supervisor.manager import SandboxManager


class Endless:
    """A provider that fetches an image for ever."""

    name = "endless"
    separates_users = True

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
