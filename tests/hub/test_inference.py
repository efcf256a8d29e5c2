"""What a stream of a hub's model costs is counted however it ends."""

import asyncio
from collections.abc import AsyncGenerator

import anyio

from prime_cli.hub.inference import with_usage


async def endless() -> AsyncGenerator[bytes, None]:
    while True:
        yield b"data: {}\n\n"
        await asyncio.sleep(0)


def test_a_caller_who_hangs_up_is_charged() -> None:
    charged: list[str] = []

    async def charge() -> None:
        await asyncio.sleep(0)
        charged.append("the part that was sent")

    async def scenario() -> None:
        async with anyio.create_task_group() as group:
            received = 0
            async for _ in with_usage(endless(), charge):
                received += 1
                if received == 3:
                    group.cancel_scope.cancel()

    asyncio.run(scenario())
    assert charged == ["the part that was sent"]


def test_a_stream_that_ends_is_charged_once() -> None:
    charged: list[str] = []

    async def two() -> AsyncGenerator[bytes, None]:
        yield b"one"
        yield b"two"

    async def charge() -> None:
        charged.append("all")

    async def scenario() -> list[bytes]:
        return [chunk async for chunk in with_usage(two(), charge)]

    assert asyncio.run(scenario()) == [b"one", b"two"]
    assert charged == ["all"]
