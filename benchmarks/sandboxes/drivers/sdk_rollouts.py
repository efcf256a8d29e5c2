"""What the sandbox of a rollout costs the official SDK, at several servers in turn.

    python sdk_rollouts.py COUNT '[["name", "address", "key"], ...]'

Run in a venv with `prime-sandboxes`. A rollout creates a sandbox, waits for it as verifiers'
`SandboxEnv` does, runs three commands and deletes it. Prints, by name, the milliseconds of each.
"""

import asyncio
import json
import os
import sys
import time
from typing import Any

from prime_sandboxes import AsyncSandboxClient, CreateSandboxRequest


async def roll_out(client: Any) -> float:
    """One rollout; milliseconds."""
    began = time.perf_counter()
    made = await client.create(CreateSandboxRequest(name="b", docker_image="python:3.11-slim"))
    await client.wait_for_creation(made.id)
    for _ in range(3):
        await client.execute_command(made.id, "true")
    await client.delete(made.id)
    return (time.perf_counter() - began) * 1000


async def main() -> None:
    """All of them in turn, so that what else the machine does meets each."""
    clients: dict[str, Any] = {}
    for name, url, key in json.loads(sys.argv[2]):
        os.environ["PRIME_API_BASE_URL"] = url
        clients[name] = AsyncSandboxClient(api_key=key)
    took: dict[str, list[float]] = {name: [] for name in clients}
    for number in range(int(sys.argv[1]) + 1):
        for name, client in clients.items():
            milliseconds = await roll_out(client)
            # The first one also opens the connections.
            if number:
                took[name].append(milliseconds)
    json.dump(took, sys.stdout)


if __name__ == "__main__":
    asyncio.run(main())
