"""Pass a request on to the supervisor: its body and the answer as streams.

In a command no event loop waits, so there it blocks; a served hub has one, which must not.
"""

import http.client
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from prime_cli.hub.sandboxes.supervisor.client import Supervisor
from prime_cli.hub.sandboxes.supervisor.connections import (
    KeptConnections,
    UnixConnection,
    ended_early,
    no_answer,
)

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

_CHUNK = 1 << 16
_SECONDS = 24 * 3600.0


class RelayedResponse(Protocol):
    """The answer to a request."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    def chunks(self) -> AsyncIterator[bytes]:
        """The body, as it comes; raises Unreachable if the supervisor ends before it does."""

    async def close(self) -> None:
        """Let go of the connection."""


class SupervisorRelay:
    """Passes requests on, over connections that are kept for the next."""

    def __init__(self, supervisor: Supervisor, *, blocking: bool) -> None:
        self._supervisor = supervisor
        self._blocking = blocking
        self._kept = KeptConnections()
        self._session: ClientSession | None = None

    async def request(
        self, method: str, path: str, *, headers: Mapping[str, str], body: AsyncIterator[bytes]
    ) -> RelayedResponse:
        """The supervisor's answer. Raises Unreachable if there is none."""
        socket = self._supervisor.paths.socket
        if self._blocking:
            connection = self._kept.take() or UnixConnection(socket, _SECONDS)
            answer = await _ask_blocking(connection, method, path, headers, body)
            return _BlockingResponse(connection, answer, self._kept)
        if self._session is None:
            self._session = _open_session(socket)
        return await _ask_async(self._session, method, path, headers, body)

    async def close(self) -> None:
        """Let go of the connections."""
        if self._session is not None:
            await self._session.close()


# --- In a command ---


class _BlockingResponse:
    def __init__(
        self, connection: UnixConnection, response: http.client.HTTPResponse, kept: KeptConnections
    ) -> None:
        self._connection, self._response, self._kept = connection, response, kept
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}

    async def chunks(self) -> AsyncIterator[bytes]:
        try:
            while chunk := self._response.read1(_CHUNK):
                yield chunk
        except (OSError, http.client.HTTPException) as error:
            raise ended_early() from error

    async def close(self) -> None:
        if self._response.isclosed():
            self._kept.put(self._connection)
        else:
            self._connection.close()


async def _ask_blocking(
    connection: UnixConnection,
    method: str,
    path: str,
    headers: Mapping[str, str],
    body: AsyncIterator[bytes],
) -> http.client.HTTPResponse:
    try:
        connection.putrequest(method, path)
        is_chunked = method == "POST" and "content-length" not in headers
        for name, value in headers.items():
            connection.putheader(name, value)
        if is_chunked:
            connection.putheader("transfer-encoding", "chunked")
        connection.endheaders()
        async for chunk in body:
            if chunk:
                connection.send(b"%x\r\n%b\r\n" % (len(chunk), chunk) if is_chunked else chunk)
        if is_chunked:
            connection.send(b"0\r\n\r\n")
        return connection.getresponse()
    except (OSError, http.client.HTTPException) as error:
        connection.close()
        raise no_answer(error) from error


# --- In a served hub ---


def _open_session(socket: Path) -> "ClientSession":
    # 60 ms to import; a command never comes here.
    import aiohttp

    return aiohttp.ClientSession(
        # The commands that run, and those that wait for their turn, may be more than its 100.
        connector=aiohttp.UnixConnector(path=str(socket), limit=0),
        timeout=aiohttp.ClientTimeout(total=_SECONDS),
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        read_bufsize=_CHUNK,
    )


async def _ask_async(
    session: "ClientSession",
    method: str,
    path: str,
    headers: Mapping[str, str],
    body: AsyncIterator[bytes],
) -> RelayedResponse:
    import aiohttp
    from yarl import URL

    url = URL(f"http://supervisor{path}", encoded=True)
    data = None if method == "GET" else body
    try:
        return _AsyncResponse(await session.request(method, url, headers=dict(headers), data=data))
    except (aiohttp.ClientError, OSError) as error:
        raise no_answer(error) from error
    except AttributeError as error:
        # aiohttp's, since Python 3.12: a kept connection that closes while the request is written
        # has no protocol left to read the answer from.
        raise no_answer(ConnectionResetError("it closed the connection")) from error


class _AsyncResponse:
    def __init__(self, response: "ClientResponse") -> None:
        self._response = response
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.headers.items()}

    async def chunks(self) -> AsyncIterator[bytes]:
        import aiohttp

        try:
            async for chunk in self._response.content.iter_any():
                yield chunk
        except (aiohttp.ClientError, OSError) as error:
            raise ended_early() from error

    async def close(self) -> None:
        # One that was read to its end has given its connection back.
        self._response.close()
