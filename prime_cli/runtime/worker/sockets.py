"""Local sockets: a port that forwards to the gateway, and which server listens on one.

The forwarder runs in a thread with its own event loop: an environment may call the model
synchronously, blocking ours. Listeners are known from Linux's /proc only.
"""

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Iterator

CHUNK = 64 * 1024


def forward(socket_path: str) -> str:
    """Open the port; returns the base URL that stands for the socket."""
    ready = threading.Event()
    port: list[int] = []

    def serve() -> None:
        asyncio.run(_serve(socket_path, port, ready))

    threading.Thread(target=serve, name="prime-forwarder", daemon=True).start()
    ready.wait()
    return f"http://127.0.0.1:{port[0]}/v1"


async def _serve(socket_path: str, port: list[int], ready: threading.Event) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            if sys.platform != "win32":  # which has no sandbox to connect from
                gateway_reader, gateway_writer = await asyncio.open_unix_connection(socket_path)
                await asyncio.gather(_pipe(reader, gateway_writer), _pipe(gateway_reader, writer))
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, backlog=1024)
    port.append(server.sockets[0].getsockname()[1])
    ready.set()
    async with server:
        await server.serve_forever()


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()
    writer.close()


TABLES = ("/proc/self/net/tcp", "/proc/self/net/tcp6")
LISTENING = "0A"

OWN = "own"
FOREIGN = "foreign"
NOBODY = "nobody"


def listener_on(port: int) -> str | None:
    """OWN for a server of this process or one that it started, FOREIGN, or NOBODY.

    None if the system does not say. A server that left its parent counts as FOREIGN.
    """
    inodes = _listening(port)
    if inodes is None:
        return None
    if not inodes:
        return NOBODY
    links = {f"socket:[{inode}]" for inode in inodes}
    return OWN if any(_holds(pid, links) for pid in _family()) else FOREIGN


def _listening(port: int) -> set[str] | None:
    found: set[str] = set()
    is_known = False
    for table in TABLES:
        with contextlib.suppress(OSError), open(table, encoding="ascii") as lines:  # noqa: PTH123
            is_known = True
            next(lines, None)
            for line in lines:
                words = line.split()
                if words[3] == LISTENING and int(words[1].rpartition(":")[2], 16) == port:
                    found.add(words[9])
    return found if is_known else None


def _holds(pid: int, links: set[str]) -> bool:
    folder = f"/proc/{pid}/fd"
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):  # noqa: PTH208 - a hook that runs in every connection
            with contextlib.suppress(OSError):
                if os.readlink(f"{folder}/{name}") in links:  # noqa: PTH115
                    return True
    return False


def _family() -> Iterator[int]:
    """The process ids of this process and of all that descend from it."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdecimal():
            children.setdefault(_parent_of(name), []).append(int(name))
    waiting = [os.getpid()]
    while waiting:
        pid = waiting.pop()
        yield pid
        waiting += children.get(pid, [])


def _parent_of(pid: str) -> int:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            # pid (name) state ppid …, where a name may hold spaces and brackets
            return int(file.read().rpartition(")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return 0
