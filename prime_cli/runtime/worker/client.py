"""Clients of the gateway: `AsyncOpenAI` for the policy, and HTTP/1.1 over loopback below it.

httpcore checks every connection of its pool on every call, which costs 5 ms of CPU per call at 128
connections; the transport here keeps a stack of idle ones. Plain HTTP only, as used by the gateway.
It works with httpx and with httpx2, its successor that openai uses from 3.0 on; both have the same
interfaces.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import Any, TypeVar

from .spec import WorkerSpec

HEADER_LIMIT = 1 << 20


T = TypeVar("T")
HostPort = tuple[str, int | None]


class LoopbackConnection:
    """An open connection to a (host, port)."""

    __slots__ = ("address", "reader", "writer")

    def __init__(
        self, address: HostPort, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.address = address
        self.reader = reader
        self.writer = writer


def loopback_transport(httpx: Any) -> Any:
    """A transport for the AsyncClient of the given module, httpx or httpx2."""
    body = type("LoopbackBody", (_Body, httpx.AsyncByteStream), {})
    transport = type("LoopbackTransport", (_Transport, httpx.AsyncBaseTransport), {})
    return transport(httpx, body)


class _Transport:
    """Keeps and reuses connections, newest first, without a limit to their number."""

    def __init__(self, httpx: Any, body: Any) -> None:
        self.httpx = httpx
        self._body = body
        self._idle: dict[HostPort, list[LoopbackConnection]] = {}

    async def handle_async_request(self, request: Any) -> Any:
        timeout = request.extensions.get("timeout", {})
        head_and_body = _request_head(request) + await request.aread()
        connection, reused = await self._connection(request, timeout.get("connect"))
        try:
            connection.writer.write(head_and_body)
            head = await _timed(connection.reader.readuntil(b"\r\n\r\n"), timeout.get("read"))
        except (asyncio.IncompleteReadError, ConnectionError, BrokenPipeError) as error:
            connection.writer.close()
            if reused and not getattr(error, "partial", b""):
                # The server just closed an idle connection, and never saw this request.
                return await self.handle_async_request(request)
            raise self.httpx.RemoteProtocolError(str(error), request=request) from error
        except asyncio.TimeoutError:
            connection.writer.close()
            raise self.httpx.ReadTimeout("no answer in time", request=request) from None
        except BaseException:
            connection.writer.close()
            raise
        status, headers = _parse_head(head)
        body = self._body(self, connection, dict(headers), timeout.get("read"), status)
        return self.httpx.Response(status, headers=headers, stream=body, request=request)

    async def aclose(self) -> None:
        for idle in self._idle.values():
            while idle:
                idle.pop().writer.close()

    def keep(self, connection: LoopbackConnection) -> None:
        self._idle.setdefault(connection.address, []).append(connection)

    async def _connection(
        self, request: Any, seconds: float | None
    ) -> tuple[LoopbackConnection, bool]:
        address = (request.url.host, request.url.port)
        idle = self._idle.get(address, [])
        while idle:
            connection = idle.pop()
            if not connection.reader.at_eof() and not connection.writer.is_closing():
                return connection, True
            connection.writer.close()
        opening = asyncio.open_connection(*address, limit=HEADER_LIMIT)
        try:
            reader, writer = await _timed(opening, seconds)
        except asyncio.TimeoutError:
            raise self.httpx.ConnectTimeout("no connection in time", request=request) from None
        except OSError as error:
            raise self.httpx.ConnectError(str(error), request=request) from error
        return LoopbackConnection(address, reader, writer), False


class _Body:
    """The body of one response; its connection is kept if read to the end."""

    def __init__(
        self,
        transport: Any,
        connection: LoopbackConnection,
        headers: dict[str, str],
        timeout: float | None,
        status: int,
    ) -> None:
        self._transport = transport
        self._connection: LoopbackConnection | None = connection
        self._reader = connection.reader
        self._headers = headers
        self._timeout = timeout
        self._empty = status in (204, 304)
        self._whole = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        reader = self._reader
        try:
            if self._headers.get("transfer-encoding", "").lower() == "chunked":
                async for piece in self._chunks(reader):
                    yield piece
            elif not self._empty:
                yield await self._sized(reader)
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise self._transport.httpx.RemoteProtocolError("the answer broke off") from error
        except asyncio.TimeoutError:
            raise self._transport.httpx.ReadTimeout("the answer did not go on in time") from None
        self._whole = True

    async def aclose(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        ends = self._headers.get("connection", "").lower() == "close"
        if self._whole and not ends:
            self._transport.keep(connection)
        else:
            connection.writer.close()

    async def _sized(self, reader: asyncio.StreamReader) -> bytes:
        length = self._headers.get("content-length")
        reading = reader.read() if length is None else reader.readexactly(int(length))
        return await _timed(reading, self._timeout)

    async def _chunks(self, reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
        while True:
            size = int((await _timed(reader.readline(), self._timeout)).split(b";")[0], 16)
            if size == 0:
                while (await reader.readline()).strip():
                    pass  # trailers
                return
            piece = await _timed(reader.readexactly(size + 2), self._timeout)
            yield piece[:-2]


async def _timed(awaitable: Awaitable[T], seconds: float | None) -> T:
    return await (awaitable if seconds is None else asyncio.wait_for(awaitable, seconds))


def _request_head(request: Any) -> bytes:
    lines = [b"%s %s HTTP/1.1" % (request.method.encode(), request.url.raw_path)]
    lines += [name + b": " + value for name, value in request.headers.raw]
    return b"\r\n".join([*lines, b"", b""])


def _parse_head(head: bytes) -> tuple[int, list[tuple[str, str]]]:
    lines = head.decode("latin-1").split("\r\n")
    status = int(lines[0].split(" ", 2)[1])
    pairs = (line.partition(":") for line in lines[1:] if line)
    return status, [(name.strip().lower(), value.strip()) for name, _, value in pairs]


TIMEOUT_S = 24 * 3600.0  # the gateway gives up earlier, and knows what it waited for


def policy_client(spec: WorkerSpec) -> Any:
    """An AsyncOpenAI client for the gateway; its calls carry the role `policy`."""
    from openai import AsyncOpenAI

    http = loopback_client()
    http.prime_role = "policy"
    return AsyncOpenAI(
        base_url=spec.base_url,
        api_key=spec.token,
        http_client=http,
        max_retries=spec.call_retries,
    )


def loopback_client() -> Any:
    """An AsyncClient of httpx or httpx2, whichever openai itself uses, for plain loopback HTTP."""
    from openai import _base_client

    used = vars(_base_client)
    httpx = used.get("httpx2") or used["httpx"]
    return httpx.AsyncClient(
        transport=loopback_transport(httpx),
        timeout=httpx.Timeout(TIMEOUT_S, connect=30.0),
        trust_env=False,
    )


def wrapped_for_verifiers(client: Any, environment: Any, spec: WorkerSpec) -> Any:
    """The same as `verifiers.clients.Client`, required from 0.1.11 on; else unchanged."""
    try:
        from verifiers import clients
    except ImportError:
        return client
    completion = getattr(environment, "message_type", "chat") == "completion"
    name = "OpenAICompletionsClient" if completion else "OpenAIChatCompletionsClient"
    wrapper = getattr(clients, name, None)
    if wrapper is None:
        return client
    wrapped = wrapper(client)
    if getattr(wrapped, "_config", None) is None:
        wrapped._config = _config(spec)  # noqa: SLF001 - some environments read it
    return wrapped


def _config(spec: WorkerSpec) -> Any:
    from verifiers.types import ClientConfig

    return ClientConfig(api_key_var="OPENAI_API_KEY", api_base_url=spec.base_url)
