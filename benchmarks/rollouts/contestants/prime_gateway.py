"""prime's gateway with its recording step, alone: `python prime_gateway.py POLICY_URL`.

Prints URL and token. Two turns make a rollout, whose segments are then taken and encoded.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

import msgspec

from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.calls import Call, Handler, Reply
from prime_cli.models.gateway.server import Gateway
from prime_cli.models.gateway.settings import GatewaySettings
from prime_cli.training.policies import Policies, Policy
from prime_cli.training.recording import TokenRecorder
from prime_cli.training.segments import weave


async def main() -> None:
    """Serve until standard input is closed."""
    endpoint = Endpoint("policy", sys.argv[1])
    recorder = TokenRecorder(Policies(Policy()), endpoint)

    async def record(call: Call, handler: Handler) -> Reply:
        reply = await recorder(call, handler)
        if call.body.count(b'"role"') > 1:
            example, rollout, attempt, _ = call.identity
            assert example is not None
            turns = recorder.take(example, rollout or 0, attempt or 1)
            assert len(turns) == 2
            msgspec.json.encode(weave(turns))
        return reply

    settings = GatewaySettings(limits_folder=Path(tempfile.mkdtemp()), tap=record)
    async with Gateway(endpoint, environ={}, settings=settings) as gate:
        print(gate.base_url.removesuffix("/v1"), gate.token, flush=True)
        await asyncio.to_thread(sys.stdin.read)


asyncio.run(main())
