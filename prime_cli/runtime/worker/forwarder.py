"""A loopback TCP port for a gateway that is only to be reached over a Unix socket.

In a thread with an event loop of its own: an environment may call the model synchronously, in
the middle of ours.
"""

import asyncio
import contextlib
import sys
import threading

CHUNK = 64 * 1024


def forward(socket_path: str) -> str:
    """Open the port; returns the base URL that stands for the socket."""
    ready = threading.Event()
    place: list[int] = []

    def serve() -> None:
        asyncio.run(_serve(socket_path, place, ready))

    threading.Thread(target=serve, name="prime-forwarder", daemon=True).start()
    ready.wait()
    return f"http://127.0.0.1:{place[0]}/v1"


async def _serve(socket_path: str, place: list[int], ready: threading.Event) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            if sys.platform != "win32":  # which has no sandbox to be reached from
                gateway_reader, gateway_writer = await asyncio.open_unix_connection(socket_path)
                await asyncio.gather(_pipe(reader, gateway_writer), _pipe(gateway_reader, writer))
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, backlog=1024)
    place.append(server.sockets[0].getsockname()[1])
    ready.set()
    async with server:
        await server.serve_forever()


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()
    writer.close()
