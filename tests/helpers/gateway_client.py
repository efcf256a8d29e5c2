"""Calling a gateway as an environment's client does: over TCP or its Unix socket."""

import asyncio
import io
import json
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

import aiohttp

from prime_cli.models.gateway.server import Gateway

T = TypeVar("T")


@dataclass(frozen=True)
class Answered:
    """What came back from the gateway."""

    status: int
    text: str
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def said(self) -> str:
        """The text of the first choice."""
        return str(self.json["choices"][0]["message"]["content"])

    @property
    def error(self) -> dict[str, Any]:
        return dict(self.json["error"])

    @property
    def events(self) -> list[Any]:
        """The JSON events of a stream, without its [DONE]."""
        lines = [line.removeprefix("data: ") for line in self.text.split("\n\n") if line]
        assert lines[-1] == "[DONE]"
        return [json.loads(line) for line in lines[:-1]]


async def ask(
    gateway: Gateway,
    text: str = "hello",
    *,
    model: str = "scripted",
    rollout: str | None = None,
    headers: dict[str, str] | None = None,
    token: str | None = None,
    unix: bool = False,
    path: str = "chat/completions",
    method: str = "POST",
    **fields: Any,
) -> Answered:
    """One call; `rollout` is `<example>.<rollout>.<attempt>` for the URL's prefix."""
    base = "http://gateway/v1" if unix else gateway.base_url
    if rollout is not None:
        base = base.replace("/v1", f"/r/{rollout}/v1")
    body = {"model": model, "messages": [{"role": "user", "content": text}], **fields}
    sent = {"Authorization": f"Bearer {gateway.token if token is None else token}"}
    connector = aiohttp.UnixConnector(str(gateway.socket_path)) if unix else None
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.request(
            method,
            f"{base}/{path}",
            data=io.BytesIO(json.dumps(body).encode()) if method == "POST" else None,
            headers=sent | {"Content-Type": "application/json"} | (headers or {}),
        ) as response,
    ):
        return Answered(response.status, await response.text(), dict(response.headers))


def run(test: Coroutine[Any, Any, T]) -> T:
    """Run an async test, at most 30 seconds."""

    async def bounded() -> T:
        async with asyncio.timeout(30):
            return await test

    return asyncio.run(bounded())
