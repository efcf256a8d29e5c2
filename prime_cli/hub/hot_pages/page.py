"""A whole answer, ready to be sent again: as it is, as its head, or as `304 Not Modified`."""

import gzip
from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from typing import Any

from starlette.types import ASGIApp, Message, Scope, Send

Headers = list[tuple[bytes, bytes]]

_OF_ONE_ANSWER = frozenset(
    {b"if-none-match", b"if-modified-since", b"if-range", b"range", b"accept-encoding"}
)
_WORTH_PACKING = 1024
_LEVEL = 6


@dataclass(frozen=True, slots=True)
class Page:
    """An answer; `etag` is empty unless its status is 200. `endpoint` is what the router chose."""

    status: int
    headers: Headers
    body: bytes
    etag: bytes
    endpoint: Any

    @property
    def is_fleeting(self) -> bool:
        """Whether it says itself that it must not be kept."""
        return any(k == b"cache-control" and b"no-store" in v for k, v in self.headers)

    async def send(self, scope: Scope, send: Send, if_none_match: str) -> None:
        """Answer GET or HEAD with it (RFC 9110, section 13.1.2)."""
        scope["endpoint"] = self.endpoint
        if if_none_match and self.etag and _matches(if_none_match, self.etag.decode()):
            status, body = int(HTTPStatus.NOT_MODIFIED), b""
            headers = [(k, v) for k, v in self.headers if not k.startswith(b"content-")]
        else:
            status, headers = self.status, self.headers.copy()
            body = b"" if scope["method"] == "HEAD" else self.body
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})


async def render(app: ASGIApp, scope: Scope, *, packed: bool, private: bool) -> Page:
    """What `app` answers to the GET of a request, whole; `packed` if the caller takes gzip."""
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
    return make_page(
        start["status"],
        answered,
        bytes(body),
        packed=packed,
        private=private,
        endpoint=inner.get("endpoint"),
    )


def make_page(
    status: int,
    headers: Headers,
    body: bytes,
    *,
    packed: bool = False,
    private: bool = False,
    endpoint: Any = None,
) -> Page:
    """An answer with what caches need to know: ETag, Vary, Cache-Control."""
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
    return Page(status, headers, body, etag, endpoint)


def _matches(if_none_match: str, etag: str) -> bool:
    """Whether the header names the tag; weak comparison, as the RFC asks for GET."""
    tags = (tag.strip().removeprefix("W/") for tag in if_none_match.split(","))
    return any(tag in (etag, "*") for tag in tags)
