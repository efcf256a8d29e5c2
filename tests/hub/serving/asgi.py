"""Requests to an ASGI application as a server makes them, and what it answers."""

import asyncio
import json
from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send


@dataclass
class Answer:
    """What an application sent."""

    scope: Scope
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def json(self) -> Any:
        return json.loads(self.body)


async def request(
    app: ASGIApp,
    path: str = "/",
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: Iterable[bytes | Awaitable[bytes]] = (),
    peer: str = "192.0.2.7",
    state: Mapping[str, Any] | None = None,
) -> Answer:
    """One request; `body` are the pieces that come, each when it is ready."""
    pieces = [*body, b""]
    scope: Scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(k.lower().encode(), v.encode()) for k, v in (headers or {}).items()],
        "client": (peer, 50_000),
        "server": ("127.0.0.1", 80),
        "state": dict(state or {}),
    }
    answer = Answer(scope)

    async def receive() -> Message:
        if not pieces:
            return {"type": "http.disconnect"}
        piece = pieces.pop(0)
        content = piece if isinstance(piece, bytes) else await piece
        return {"type": "http.request", "body": content, "more_body": bool(pieces)}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = {k.decode(): v.decode() for k, v in message["headers"]}
        else:
            answer.body += message.get("body", b"")

    await app(scope, receive, send)
    return answer


def ask(app: ASGIApp, path: str = "/", **options: Any) -> Answer:
    """`request`, for tests that have no event loop."""
    return asyncio.run(request(app, path, **options))


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that reads the body and answers with its length."""
    size, more = 0, True
    while more:
        message = await receive()
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(size).encode()})
