"""The benchmark environment driven by its own `generate` with AsyncOpenAI, and nothing else.

python generate.py URL ROLLOUTS CONCURRENCY   (verifiers 0.1.14)
"""

import asyncio
import sys

import bench_v0
from openai import AsyncOpenAI
from verifiers.clients import OpenAIChatCompletionsClient
from writing import write_rewards


async def drive(url: str, rollouts: int, concurrency: int) -> None:
    environment = bench_v0.load_environment(rollouts)
    client = OpenAIChatCompletionsClient(AsyncOpenAI(base_url=url, api_key="bench"))
    done = await environment.evaluate(
        client,
        "mock",
        num_examples=rollouts,
        rollouts_per_example=1,
        max_concurrent=concurrency,
        on_progress=[],
    )
    write_rewards([output["reward"] for output in done["outputs"]])


asyncio.run(drive(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
