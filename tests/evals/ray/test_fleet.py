"""The workers of a run on a cluster that is scripted."""

import asyncio
import platform
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from prime_cli import __version__
from prime_cli.core.errors import EnvironmentFailed, NotAllowed, UsageError
from prime_cli.core.progress import Silent
from prime_cli.evals.ray.fleet import MOST_LOSSES, Fleet
from prime_cli.evals.ray.units import UnitKeys
from prime_cli.evals.ray.wire import (
    Access,
    Broken,
    Connected,
    Happened,
    Heard,
    Joined,
    Lost,
    Order,
    Place,
    Problem,
    Refused,
    Report,
    Request,
    Stopped,
    Tell,
    decode,
)
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.server import Gateway
from prime_cli.models.gateway.settings import GatewaySettings
from prime_cli.models.prices import Budget
from prime_cli.runs.work_list import WorkList
from prime_cli.runtime.protocol import Cancel, Event, RunRollouts, Start

HERE, C = "10.0.0.1", 2


class Scripted:
    """A connection to a cluster: what is sent is kept, what is put is reported."""

    def __init__(self) -> None:
        self.cluster = Connected("2.60", 1, HERE)
        self.sent: list[Request] = []
        self._reports: asyncio.Queue[Report] = asyncio.Queue()

    async def __aenter__(self) -> "Scripted":
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    def send(self, request: Request) -> None:
        self.sent.append(request)

    async def reports(self) -> AsyncIterator[Report]:
        while True:
            yield await self._reports.get()

    async def report(self, *reports: Report) -> None:
        for each in reports:
            self._reports.put_nowait(each)
        for _ in range(50):
            await asyncio.sleep(0)

    async def join(self, seat: int, host: str = HERE) -> None:
        start = _heard(Start(examples=99, planned=99, unit="rollout", concurrency=C))
        joined = Joined(seat, host, __version__, platform.python_version())
        await self.report(joined, Heard(seat, [start]))

    def orders(self, seat: int) -> list[Order]:
        """What the worker `seat` was told."""
        told = [each for each in self.sent if isinstance(each, Tell) and each.seat == seat]
        return [decode(bytes(each.order), Order) for each in told]

    def examples(self, seat: int) -> list[int]:
        """What it was told to run."""
        return [each.example for each in self.orders(seat) if isinstance(each, RunRollouts)]


def _heard(event: Event) -> msgspec.Raw:
    happened = Happened(msgspec.Raw(msgspec.json.encode(event)))
    return msgspec.Raw(msgspec.json.encode(happened))


def run(
    scenario: Callable[[Scripted, Gateway], Awaitable[None]],
    tmp_path: Path,
    *,
    workers: int,
    examples: int = 0,
    url: str = "http://model.example/v1",
) -> None:
    """`scenario` beside a fleet whose events are read; raises what the fleet does."""
    deadlines = SimpleNamespace(rollout_seconds=100.0)
    plan = SimpleNamespace(concurrency=C, max_retries=0, deadlines=deadlines)
    endpoint = Endpoint("m", url)
    setup: Any = SimpleNamespace(
        plan=plan,
        prepared=SimpleNamespace(endpoint=endpoint),
        context=SimpleNamespace(progress=Silent(), verbose=False),
        folder=SimpleNamespace(log=tmp_path / "log"),
    )
    units: list[UnitKeys] = [[(example, 0)] for example in range(examples)]

    async def whole() -> None:
        cluster: Any = Scripted()
        gateway = Gateway(endpoint, settings=GatewaySettings(budget=Budget(token_budget=1000)))
        async with Fleet(
            setup,
            gateway,
            WorkList(C),
            lambda _: units,
            {},
            order=Cancel(),
            access=Access(endpoints=[]),
            address="auto",
            connection=cluster,
            workers=workers,
        ) as fleet:

            async def read() -> None:
                async for _ in fleet.events():
                    pass

            reading = asyncio.ensure_future(read())
            acting = asyncio.ensure_future(scenario(cluster, gateway))
            await asyncio.wait([reading, acting], return_when=asyncio.FIRST_COMPLETED, timeout=5)
            if not acting.done() or acting.exception() is None:
                acting.cancel()
            else:
                reading.cancel()
                await acting
            if reading.done():
                await reading
            reading.cancel()

    asyncio.run(whole())


def test_a_lost_node_with_many_workers_is_one_loss(tmp_path: Path) -> None:
    async def scenario(cluster: Scripted, _: Gateway) -> None:
        for seat in range(1, 9):
            await cluster.join(seat, "10.0.0.2")
        await cluster.report(*(Lost(seat, "its node died") for seat in range(1, 9)))
        assert sum(isinstance(each, Place) for each in cluster.sent) == 16

    run(scenario, tmp_path, workers=8, examples=99)


def test_workers_that_are_lost_one_after_the_other_end_the_run(tmp_path: Path) -> None:
    async def scenario(cluster: Scripted, _: Gateway) -> None:
        for seat in range(1, MOST_LOSSES + 2):
            await cluster.join(seat)
            await cluster.report(Lost(seat, "its process died"))

    with pytest.raises(EnvironmentFailed, match="in a row were lost"):
        run(scenario, tmp_path, workers=1, examples=99)


def test_what_a_lost_worker_had_is_shared_among_the_others(tmp_path: Path) -> None:
    async def scenario(cluster: Scripted, _: Gateway) -> None:
        await cluster.join(1)
        assert cluster.examples(1) == [0, 1, 2]
        await cluster.join(2)
        await cluster.join(3)
        await cluster.report(Lost(1, "its process died"))
        assert [len(cluster.examples(seat)) for seat in (2, 3)] == [2, 1]

    run(scenario, tmp_path, workers=3, examples=3)


def test_a_suspect_runs_alone_also_when_another_worker_is_lost(tmp_path: Path) -> None:
    async def scenario(cluster: Scripted, _: Gateway) -> None:
        for seat in (1, 2):  # both had 0 and 1 in flight, and 2 only waited
            await cluster.join(seat)
            await cluster.report(Lost(seat, "died"))
        await cluster.join(3)
        await cluster.join(4)
        assert [cluster.examples(seat) for seat in (3, 4)] == [[2], [0]]
        await cluster.report(Lost(3, "died"))
        assert cluster.examples(4) == [0]

    run(scenario, tmp_path, workers=2, examples=3)


def test_a_model_at_a_loopback_address_needs_nodes_on_this_machine(tmp_path: Path) -> None:
    async def near(cluster: Scripted, _: Gateway) -> None:
        await cluster.join(1)
        assert cluster.examples(1) == [0]

    async def far(cluster: Scripted, _: Gateway) -> None:
        await cluster.join(1, "10.0.0.2")

    url = "http://127.0.0.1:8000/v1"
    run(near, tmp_path, workers=1, examples=1, url=url)
    with pytest.raises(UsageError, match=r"127\.0\.0\.1:8000.*the node 10\.0\.0\.2"):
        run(far, tmp_path, workers=1, examples=1, url=url)


def test_a_failure_names_its_node(tmp_path: Path) -> None:
    async def scenario(cluster: Scripted, _: Gateway) -> None:
        await cluster.join(1, "10.0.0.2")
        broken = Broken(Problem("EnvironmentFailed", "No module `x`"))
        await cluster.report(Heard(1, [msgspec.Raw(msgspec.json.encode(broken))]))

    with pytest.raises(EnvironmentFailed, match=r"The node 10\.0\.0\.2: No module `x`"):
        run(scenario, tmp_path, workers=1, examples=1)


def test_nodes_hear_that_calls_have_stopped_also_those_that_come_later(tmp_path: Path) -> None:
    async def scenario(cluster: Scripted, gateway: Gateway) -> None:
        await cluster.join(1)
        assert gateway.hold.budget is not None
        gateway.hold.budget.stop("The budget is used up")
        await cluster.report()
        assert cluster.orders(1)[-1] == Stopped("The budget is used up")
        await cluster.join(2)
        assert Stopped("The budget is used up") in cluster.orders(2)

    run(scenario, tmp_path, workers=2, examples=9)


def test_nodes_hear_that_a_key_was_refused(tmp_path: Path) -> None:
    async def scenario(cluster: Scripted, gateway: Gateway) -> None:
        await cluster.join(1)
        gateway.hold.close(NotAllowed("The key is refused"))
        await cluster.report()
        assert cluster.orders(1)[-1] == Refused(Problem("NotAllowed", "The key is refused"))

    run(scenario, tmp_path, workers=1, examples=9)
