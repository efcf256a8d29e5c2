"""A scripted model behind a Unix socket, as a gateway is for a sandboxed worker."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from tests.helpers.scripted_model import ScriptedModel


@contextlib.contextmanager
def unix_socket_of(model: ScriptedModel, path: Path) -> Iterator[None]:
    """While open, `path` leads to `model`."""
    loop = asyncio.new_event_loop()
    open_ones: set[asyncio.Task[None]] = set()

    async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        finally:
            writer.close()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        to_model = await asyncio.open_connection("127.0.0.1", urlsplit(model.url).port)
        await asyncio.gather(pipe(reader, to_model[1]), pipe(to_model[0], writer))

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = loop.create_task(connected(reader, writer))
        open_ones.add(task)
        task.add_done_callback(open_ones.discard)

    async def close() -> None:
        server.close()
        waiting = list(open_ones)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await asyncio.sleep(0)  # lets the closed transports let go of their sockets

    server = loop.run_until_complete(asyncio.start_unix_server(accept, str(path)))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield
    finally:
        asyncio.run_coroutine_threadsafe(close(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)
        loop.close()
