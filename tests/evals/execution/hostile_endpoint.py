"""A worker and its gateway side by side, in front of an endpoint that makes trouble."""

import asyncio
import os
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.server import Gateway
from prime_cli.models.gateway.settings import GatewaySettings
from prime_cli.models.prices import TokenUsage
from prime_cli.runtime.protocol import WorkerSpec
from tests.helpers.hostile_model import Hostile
from tests.helpers.scripted_model import Received, Reply, ScriptedModel, echo
from tests.runtime.worker.runs import Said, worker_for

PATIENCE_S = 300


@dataclass
class Driven:
    """What came out of it."""

    said: Said
    used: TokenUsage
    met: dict[str, int]
    calls: int


def sometimes_wrong(request: Received) -> Reply:
    """Says it back, but for every third word: scores are to be of both kinds."""
    number = int("".join(filter(str.isdigit, request.last_user)) or 0)
    return Reply("something else") if number % 3 == 0 else echo(request)


def seed_of_today() -> int:
    """Another one each time, printed so that a failure can be had again."""
    seed = int(os.environ.get("PRIME_TEST_SEED") or time.time())
    print(f"PRIME_TEST_SEED={seed}")
    return seed


def drive(
    spec: WorkerSpec,
    hostile: Hostile,
    settings: GatewaySettings,
    log: Path,
    python: Path | None = None,
) -> Driven:
    """Run `spec` to its end, against an endpoint that is `hostile`."""

    async def listen(model: ScriptedModel) -> Driven:
        said = Said()
        async with (
            asyncio.timeout(PATIENCE_S),
            Gateway(Endpoint("scripted", model.url), environ={}, settings=settings) as gate,
        ):
            reached = msgspec.structs.replace(spec, base_url=gate.base_url, token=gate.token)
            async with worker_for(reached, log, python) as worker:
                async for event in worker.events():
                    said.hear(event)
            return Driven(said, gate.ledger.total(), dict(hostile.met), len(model.calls))

    with ScriptedModel(hostile) as model:
        return asyncio.run(listen(model))
