"""Where a run listens for who steers it: a Unix socket that only its user can reach."""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec

from prime_cli.core.errors import PrimeError, StorageFailed, UsageError
from prime_cli.core.paths import own_socket
from prime_cli.core.progress import Progress
from prime_cli.evals.control.messages import (
    ControlRequest,
    Refusal,
    RunState,
    decode_request,
    encode_line,
)

OnRequest = Callable[[ControlRequest], Awaitable[RunState]]
"""Does what is asked, and returns the state after it; raises PrimeError."""


def control_socket(folder: Path) -> Path:
    """Where the run in `folder` listens; raises StorageFailed."""
    return own_socket(folder.resolve() / "control")


@asynccontextmanager
async def listening(folder: Path, do: OnRequest, progress: Progress) -> AsyncIterator[None]:
    """While open, requests for the run in `folder` are done, one after another.

    Only the holder of the run's lock may listen, so a socket that is there is that of a process
    that was killed. A run goes on without one, with a warning.
    """
    turn = asyncio.Lock()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, ValueError):
            while line := await reader.readline():
                async with turn:
                    answer = await _answer(line, do)
                writer.write(encode_line(answer))
                await writer.drain()
        writer.close()

    server, path = None, Path()
    try:
        path = control_socket(folder)
        server = await asyncio.start_server(serve, sock=_bound(path))
    except (OSError, StorageFailed) as error:
        progress.warn(f"This run cannot be steered by `prime eval ctl`: {error}")
    try:
        yield
    finally:
        if server is not None:
            server.close()
            _remove(path)


def _bound(path: Path) -> socket.socket:
    """A socket at `path`, for this user alone, in place of a dead one."""
    if sys.platform == "win32":
        raise OSError("there are no Unix sockets on Windows")
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    path.chmod(0o600)
    return listener


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)


async def _answer(line: bytes, do: OnRequest) -> RunState | Refusal:
    try:
        return await do(decode_request(line))
    except msgspec.MsgspecError as error:
        return Refusal.of(UsageError(f"The run does not understand this request: {error}"))
    except PrimeError as error:
        return Refusal.of(error)
