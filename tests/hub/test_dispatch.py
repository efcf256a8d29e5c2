"""Whoever waits for a provider of machines is in the way of nobody else."""

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from prime_cli.hub.app import create_app
from prime_cli.wire.offers import GpuOffer
from tests.helpers.machines import Machines
from tests.hub.accounts_hub import URL, AccountsHub
from tests.hub.pushing import settings_for

WAITING = 60
"""More than there are threads for everything else."""


@dataclass
class Hanging(Machines):
    """Says what it has once it is `let_go`."""

    asked: threading.Event = field(default_factory=threading.Event)
    let_go: threading.Event = field(default_factory=threading.Event)

    def offers(self) -> Sequence[GpuOffer]:
        self.asked.set()
        self.let_go.wait()
        return super().offers()


def test_a_hub_answers_while_a_provider_hangs(folder: Path) -> None:
    machines = Hanging()
    accounts_hub = AccountsHub(folder)
    accounts_hub.user("ada")
    key = accounts_hub.key("ada")
    served = create_app(
        settings_for(folder, embedded=False, accounts=True, public_url=URL, providers=(machines,))
    )

    async def ask() -> tuple[int, list[int]]:
        transport = httpx.ASGITransport(served)
        headers = {"authorization": f"Bearer {key}"}
        async with httpx.AsyncClient(
            transport=transport, base_url=URL, headers=headers, timeout=None
        ) as ada:
            offers = "/api/v1/availability/gpus"
            waiting = [asyncio.create_task(ada.get(offers)) for _ in range(WAITING)]
            try:
                await asyncio.to_thread(machines.asked.wait)
                async with asyncio.timeout(120):
                    other = await ada.get("/api/v1/ssh_keys")
            finally:
                machines.let_go.set()
            return other.status_code, [(await each).status_code for each in waiting]

    assert asyncio.run(ask()) == (200, [200] * WAITING)
