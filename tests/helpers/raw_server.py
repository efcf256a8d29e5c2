"""A loopback server whose connections a test answers byte by byte."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def raw_server(answer: Answer) -> AsyncIterator[str]:
    """The base URL (`…/v1`) of a server; `answer` runs once a connection, head already read."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            await answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the caller hung up
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        server.close()


def always(status: int, body: bytes = b"", *, headers: str = "") -> Answer:
    """One answer for every connection."""

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = f"HTTP/1.1 {status} Raw\r\ncontent-length: {len(body)}\r\n{headers}\r\n"
        writer.write(head.encode() + body)
        await writer.drain()

    return answer
