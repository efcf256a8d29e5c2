"""A bare loop over the same prompts: python client_loop.py URL ROLLOUTS CONCURRENCY CLIENT.

CLIENT is `openai` (AsyncOpenAI) or `aiohttp`. No environment, no rubric object, nothing saved but
the rewards: the floor under every evaluator.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable

from writing import write_rewards

Ask = Callable[[str], Awaitable[str]]


async def drive(url: str, rollouts: int, concurrency: int, client: str) -> None:
    rewards = [0.0] * rollouts
    waiting = iter(range(rollouts))

    async def work(ask: Ask) -> None:
        for number in waiting:
            said = await ask(f"Say back: word{number}")
            rewards[number] = 1.0 if said == f"word{number}" else 0.0

    async def all_at_once(ask: Ask) -> None:
        await asyncio.gather(*(work(ask) for _ in range(concurrency)))

    await (with_openai if client == "openai" else with_aiohttp)(url, all_at_once)
    write_rewards(rewards)


async def with_openai(url: str, run: Callable[[Ask], Awaitable[None]]) -> None:
    from openai import AsyncOpenAI

    async with AsyncOpenAI(base_url=url, api_key="bench") as client:

        async def ask(prompt: str) -> str:
            messages = [{"role": "user", "content": prompt}]
            answer = await client.chat.completions.create(model="mock", messages=messages)
            return answer.choices[0].message.content or ""

        await run(ask)


async def with_aiohttp(url: str, run: Callable[[Ask], Awaitable[None]]) -> None:
    import aiohttp

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def ask(prompt: str) -> str:
            body = {"model": "mock", "messages": [{"role": "user", "content": prompt}]}
            async with session.post(f"{url}/chat/completions", json=body) as response:
                answer = await response.json()
            return str(answer["choices"][0]["message"]["content"])

        await run(ask)


asyncio.run(drive(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]))
