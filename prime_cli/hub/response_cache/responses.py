"""Rendered responses, and a cache of them bounded in bytes."""

import gzip
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prime_cli.hub.response_cache.requests import CacheAddress

# --- Ready responses ---

Headers = list[tuple[bytes, bytes]]

_OF_ONE_ANSWER = frozenset(
    {b"if-none-match", b"if-modified-since", b"if-range", b"range", b"accept-encoding"}
)
# RFC 9110, section 15.4.5.
_OF_NOT_MODIFIED = frozenset({b"cache-control", b"etag", b"vary"})
_PATHSEND = "http.response.pathsend"
_WORTH_PACKING = 1024
_LEVEL = 6


class LocalFile(NamedTuple):
    """A local file, and its size in bytes."""

    path: Path
    size: int


@dataclass(frozen=True, slots=True)
class CachedResponse:
    """An answer; `etag` is empty unless its status is 200. `endpoint` is what the router chose.

    The body of a `file` is what the file holds; the server's own code sends it.
    """

    status: int
    headers: Headers
    body: bytes
    etag: bytes
    endpoint: Any
    file: LocalFile | None = None

    @property
    def is_fleeting(self) -> bool:
        """Whether its own headers forbid caching."""
        return any(k == b"cache-control" and b"no-store" in v for k, v in self.headers)

    def is_there(self) -> bool:
        """Whether the file, if it is one, still exists with the same size."""
        try:
            return self.file is None or self.file.path.stat().st_size == self.file.size
        except OSError:
            return False

    async def send(self, scope: Scope, send: Send, if_none_match: str) -> None:
        """Answer GET or HEAD with it (RFC 9110, section 13.1.2)."""
        scope["endpoint"] = self.endpoint
        body: Message = {"type": "http.response.body", "body": b"", "more_body": False}
        if if_none_match and self.etag and _matches(if_none_match, self.etag.decode()):
            status = int(HTTPStatus.NOT_MODIFIED)
            headers = [(k, v) for k, v in self.headers if k in _OF_NOT_MODIFIED]
        else:
            status, headers = self.status, self.headers.copy()
            if scope["method"] != "HEAD":
                body = self._body()
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send(body)

    def _body(self) -> Message:
        if self.file is not None:
            return {"type": _PATHSEND, "path": str(self.file.path)}
        return {"type": "http.response.body", "body": self.body, "more_body": False}


async def render(app: ASGIApp, scope: Scope, *, packed: bool, private: bool) -> CachedResponse:
    """The complete answer of `app` to the GET of a request; `packed` if the caller accepts gzip."""
    headers = [header for header in scope["headers"] if header[0] not in _OF_ONE_ANSWER]
    inner = {**scope, "method": "GET", "headers": headers}
    start: Message = {}
    body = bytearray()

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def collect(message: Message) -> None:
        if message["type"] == "http.response.start":
            start.update(message)
        else:
            body.extend(message.get("body", b""))

    await app(inner, receive, collect)
    answered = [(k, v) for k, v in start["headers"] if k != b"content-length"]
    return make_response(
        start["status"],
        answered,
        bytes(body),
        packed=packed,
        private=private,
        endpoint=inner.get("endpoint"),
    )


async def pass_on(
    app: ASGIApp, scope: Scope, receive: Receive, send: Send
) -> CachedResponse | None:
    """Let `app` answer the caller; returns the answer as a page if it was a whole file by path.

    An application sends a path only to a server that supports it, which it then will next time too.
    """
    start: Message = {}
    path = ""

    async def note(message: Message) -> None:
        nonlocal path
        if message["type"] == "http.response.start":
            start.update(message)
        elif message["type"] == _PATHSEND:
            path = message["path"]
        await send(message)

    await app(scope, receive, note)
    if not path:
        return None
    headers = dict(start["headers"])
    file = LocalFile(Path(path), int(headers[b"content-length"]))
    etag = headers[b"etag"]
    return CachedResponse(start["status"], start["headers"], b"", etag, scope.get("endpoint"), file)


def make_response(
    status: int,
    headers: Headers,
    body: bytes,
    *,
    packed: bool = False,
    private: bool = False,
    endpoint: Any = None,
) -> CachedResponse:
    """A response with the headers for caches: ETag, Vary, Cache-Control."""
    given = {name for name, _ in headers}
    if packed and len(body) >= _WORTH_PACKING:
        body = gzip.compress(body, _LEVEL, mtime=0)
        headers.append((b"content-encoding", b"gzip"))
    headers.append((b"content-length", str(len(body)).encode()))
    headers.append((b"vary", b"accept, accept-encoding, authorization, cookie"))
    if b"cache-control" not in given:
        headers.append((b"cache-control", b"private, no-cache" if private else b"no-cache"))
    etag = b""
    if status == HTTPStatus.OK:
        kind = dict(headers).get(b"content-type", b"")
        etag = f'"{sha256(kind + body).hexdigest()[:32]}"'.encode()
        headers.append((b"etag", etag))
    return CachedResponse(status, headers, body, etag, endpoint)


def _matches(if_none_match: str, etag: str) -> bool:
    """Whether the header contains the tag; weak comparison, as the RFC requires for GET."""
    tags = (tag.strip().removeprefix("W/") for tag in if_none_match.split(","))
    return any(tag in (etag, "*") for tag in tags)


# --- The cache ---

Stamp = tuple[int, ...]
"""The serials of what a page shows; see `serials`."""

_OVERHEAD = 1500
"""Approximately Python's overhead for an entry besides its body."""
_LARGEST_SHARE = 8


@dataclass(slots=True)
class ResponseEntry:
    """A response valid at `serial`, and for as long as its subject's stamp is `stamp`."""

    page: CachedResponse
    serial: int
    stamp: Stamp


class ResponseCache:
    """Entries by address; the least recently used are evicted first."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.size = 0
        self._entries: OrderedDict[CacheAddress, ResponseEntry] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, address: CacheAddress) -> bool:
        return address in self._entries

    def get(self, address: CacheAddress) -> ResponseEntry | None:
        """The entry, now the most recently used."""
        entry = self._entries.get(address)
        if entry is not None:
            self._entries.move_to_end(address)
        return entry

    def put(self, address: CacheAddress, entry: ResponseEntry) -> None:
        """Store an entry, replacing an older one; too large ones are not stored."""
        self.drop(address)
        size = _size(address, entry)
        if size > self.capacity // _LARGEST_SHARE:
            return
        self._entries[address] = entry
        self.size += size
        while self.size > self.capacity:
            self.drop(next(iter(self._entries)))

    def drop(self, address: CacheAddress) -> None:
        """Remove an entry, if there is one."""
        entry = self._entries.pop(address, None)
        if entry is not None:
            self.size -= _size(address, entry)


def _size(address: CacheAddress, entry: ResponseEntry) -> int:
    return _OVERHEAD + 3 * len(address.path) + len(entry.page.body)
