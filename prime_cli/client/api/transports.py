"""Addresses of hubs, and the ways to them: sockets, none (offline), or a hub in this process."""

import re
from collections.abc import (
    Awaitable,
    Callable,
    Generator,
    Iterator,
    Mapping,
    MutableMapping,
    Sequence,
)
from typing import Any

import httpx

from prime_cli.core.errors import InternalError, Offline, PrimeError, Unreachable
from prime_cli.core.network import load_certificates, proxy_for

Query = Mapping[str, str | int | Sequence[str] | None]


def parse_url(text: str) -> httpx.URL:
    """An absolute http or https URL; raises Unreachable for anything else."""
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL as error:
        raise Unreachable(f"`{text}` is not a URL: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise Unreachable(
            f"`{text}` is not an absolute http or https URL",
            hint="check the hub's URL with `prime config show`",
        )
    return url


def host_of(url: httpx.URL) -> str:
    """Its host, with the port if given: its name in messages."""
    return url.netloc.decode("ascii")


def reason_of(error: Exception) -> str:
    """What `error` says, without its number (`[Errno 111] `)."""
    return re.sub(r"^\[Errno -?\d+\] ", "", str(error))


def next_hop(url: httpx.URL, location: str) -> str:
    """Where `url` redirects to; raises Unreachable if that is not an address."""
    try:
        return str(url.join(location))
    except httpx.InvalidURL as error:
        raise Unreachable(
            f"{host_of(url)} redirects to `{location}`, which is not a URL"
        ) from error


def origin_of(url: httpx.URL) -> tuple[str, str, int | None]:
    """Scheme, host and port: a key belongs to one origin."""
    return url.scheme, url.host, url.port


def parameters(query: Query) -> dict[str, str | list[str]]:
    """A query as httpx expects it, without None values."""
    return {
        name: list(value) if not isinstance(value, (str, int)) else str(value)
        for name, value in query.items()
        if value is not None
    }


def open_client(transport: httpx.BaseTransport | None, timeout: httpx.Timeout) -> httpx.Client:
    """A client using `transport`, else sockets with the environment's proxies and certificates."""
    return httpx.Client(transport=transport or SocketTransport(), timeout=timeout, trust_env=False)


class SocketTransport(httpx.BaseTransport):
    """Sockets, directly or through a proxy, as `core.network` decides.

    A request raises UsageError for a proxy or certificates that cannot be used.
    """

    def __init__(self) -> None:
        self._ways: dict[tuple[str, str | None], httpx.HTTPTransport] = {}

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        way = url.scheme, proxy_for(f"{url.scheme}://{url.netloc.decode('ascii')}")
        if way not in self._ways:
            self._ways[way] = _open_way(*way)
        return self._ways[way].handle_request(request)

    def close(self) -> None:
        for way in self._ways.values():
            way.close()


def _open_way(scheme: str, proxy: str | None) -> httpx.HTTPTransport:
    if scheme == "http" and proxy is None:
        # Without encryption there are no certificates, which take 20 ms to load.
        return httpx.HTTPTransport(verify=False, trust_env=False)
    tls = load_certificates()
    through = None
    if proxy is not None:
        # A proxy without TLS may have no certificates.
        through = httpx.Proxy(proxy, ssl_context=tls if proxy.startswith("https:") else None)
    return httpx.HTTPTransport(verify=tls, trust_env=False, proxy=through)


HTTP_ERROR = httpx.HTTPError
"""What reading an answer may raise, for those who do not know the library."""
Answer = httpx.Response
"""An answer that is passed on."""


class OfflineTransport(httpx.BaseTransport):
    """Refuses every request before any socket or name lookup; raises Offline."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        raise Offline(
            f"{host_of(request.url)} was not contacted: prime is offline",
            hint="run it again without `--offline` and PRIME_OFFLINE",
        )


Message = MutableMapping[str, Any]
App = Callable[
    [
        MutableMapping[str, Any],
        Callable[[], Awaitable[Message]],
        Callable[[Message], Awaitable[None]],
    ],
    Awaitable[None],
]
"""An ASGI 3 application."""


class AppTransport(httpx.BaseTransport):
    """Answers requests with an ASGI application, in the caller's thread.

    httpx's own ASGITransport is asynchronous only and holds whole bodies in memory. This one needs
    no event loop and no thread: it drives the application's coroutine by hand. `receive` is
    answered at once from the request's byte stream; `send` suspends the coroutine until the reader
    of the response asks for more. So bodies stream both ways, one chunk at a time, and the
    application may await nothing but `receive` and `send`. Raises InternalError when the
    application raises, or awaits something that needs an event loop.
    """

    def __init__(self, app: App) -> None:
        self.app = app

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        exchange = _Exchange(self.app, request)
        start = exchange.next_message()
        if start is None or start["type"] != "http.response.start":
            exchange.close()
            raise InternalError("The built-in hub did not respond")
        return httpx.Response(start["status"], headers=start["headers"], stream=_Body(exchange))


class _Body(httpx.SyncByteStream):
    """The response body; reading it resumes the application."""

    def __init__(self, exchange: "_Exchange") -> None:
        self._exchange = exchange

    def __iter__(self) -> Iterator[bytes]:
        while (message := self._exchange.next_message()) is not None:
            if chunk := message.get("body"):
                yield chunk

    def close(self) -> None:
        self._exchange.close()


class _Sent:
    """Awaiting it yields `message` to whatever drives the coroutine."""

    def __init__(self, message: Message) -> None:
        self._message = message

    def __await__(self) -> Generator[Message, None, None]:
        yield self._message


class _Exchange:
    """One request in progress: the application's coroutine and the request body it reads."""

    def __init__(self, app: App, request: httpx.Request) -> None:
        if not isinstance(request.stream, httpx.SyncByteStream):
            raise InternalError("The built-in hub accepts only synchronous requests")
        self._chunks = iter(request.stream)
        self._body_ended = False
        self._coroutine = _as_coroutine(app(_scope(request), self._receive, self._send))

    async def _receive(self) -> Message:
        if self._body_ended:
            return {"type": "http.disconnect"}
        chunk = next(self._chunks, None)
        self._body_ended = chunk is None
        return {"type": "http.request", "body": chunk or b"", "more_body": chunk is not None}

    async def _send(self, message: Message) -> None:
        await _Sent(message)

    def next_message(self) -> Message | None:
        """Run the application to its next `send`; None if it has returned."""
        try:
            message = self._coroutine.send(None)
        except StopIteration:
            return None
        except (PrimeError, httpx.HTTPError):
            raise
        except Exception as error:
            # Starlette's own, of an error after the response began.
            if isinstance(error.__cause__, PrimeError):
                raise error.__cause__ from None
            raise InternalError(
                f"The built-in hub failed: {type(error).__name__}: {error}"
            ) from error
        if not isinstance(message, MutableMapping):
            self.close()
            raise InternalError(f"The hub in this process awaited {message!r}")
        return message

    def close(self) -> None:
        self._coroutine.close()


async def _as_coroutine(awaitable: Awaitable[None]) -> None:
    await awaitable


def _scope(request: httpx.Request) -> dict[str, Any]:
    """The ASGI scope of `request`; spec 2.4 lets Starlette stream without a task group."""
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": request.url.scheme,
        "path": request.url.path,
        "raw_path": request.url.raw_path.partition(b"?")[0],
        "query_string": request.url.query,
        "root_path": "",
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "server": (request.url.host, request.url.port),
        "client": ("127.0.0.1", 0),
    }
