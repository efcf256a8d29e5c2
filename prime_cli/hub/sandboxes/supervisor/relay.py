"""Pass a request on to the supervisor: its body and the answer as streams.

In a command no event loop waits, so there it blocks; a served hub has one, which must not.
"""

import http.client
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Protocol

from prime_cli.core.errors import Unreachable
from prime_cli.hub.sandboxes.supervisor.client import Supervisor, UnixConnection

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

_CHUNK = 1 << 16
_SECONDS = 24 * 3600.0
_NO_ANSWER = "The supervisor of this hub's sandboxes does not answer"


class RelayedResponse(Protocol):
    """The answer to a request."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    def chunks(self) -> AsyncIterator[bytes]:
        """The body, as it comes."""

    async def close(self) -> None:
        """Let go of the connection."""


async def relay_request(
    supervisor: Supervisor,
    method: str,
    path: str,
    *,
    headers: Mapping[str, str],
    body: AsyncIterator[bytes],
    blocking: bool,
) -> RelayedResponse:
    """Send a request to the supervisor. Raises Unreachable if it does not answer."""
    if blocking:
        return await _open_blocking(supervisor, method, path, headers, body)
    return await _open_async(supervisor, method, path, headers, body)


# --- In a command ---


class _BlockingResponse:
    def __init__(
        self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse
    ) -> None:
        self._connection, self._response = connection, response
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}

    async def chunks(self) -> AsyncIterator[bytes]:
        while chunk := self._response.read1(_CHUNK):
            yield chunk

    async def close(self) -> None:
        self._connection.close()


async def _open_blocking(
    supervisor: Supervisor,
    method: str,
    path: str,
    headers: Mapping[str, str],
    body: AsyncIterator[bytes],
) -> _BlockingResponse:
    connection = UnixConnection(supervisor.paths.socket, _SECONDS)
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
        return _BlockingResponse(connection, connection.getresponse())
    except (OSError, http.client.HTTPException) as error:
        connection.close()
        raise Unreachable(f"{_NO_ANSWER}: {error}") from error


# --- In a served hub ---


async def _open_async(
    supervisor: Supervisor,
    method: str,
    path: str,
    headers: Mapping[str, str],
    body: AsyncIterator[bytes],
) -> RelayedResponse:
    # 60 ms to import; a command never comes here.
    import aiohttp
    from yarl import URL

    session = aiohttp.ClientSession(
        connector=aiohttp.UnixConnector(path=str(supervisor.paths.socket)),
        timeout=aiohttp.ClientTimeout(total=_SECONDS),
        auto_decompress=False,
        read_bufsize=_CHUNK,
    )
    url = URL(f"http://supervisor{path}", encoded=True)
    data = None if method == "GET" else body
    try:
        response = await session.request(method, url, headers=dict(headers), data=data)
    except (aiohttp.ClientError, OSError) as error:
        await session.close()
        raise Unreachable(f"{_NO_ANSWER}: {error}") from error
    return _AsyncResponse(session, response)


class _AsyncResponse:
    def __init__(self, session: "ClientSession", response: "ClientResponse") -> None:
        self._session, self._response = session, response
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.headers.items()}

    async def chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self._response.content.iter_any():
            yield chunk

    async def close(self) -> None:
        self._response.close()
        await self._session.close()
