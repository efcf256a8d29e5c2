"""Who a model call is made for: carried by a context variable, stamped on every request.

All HTTP of Python's model clients goes through httpx or its successor httpx2. `stamp_requests`
wraps the one method that every request passes, so that the environment's own clients (judges,
say) are known as well as the policy's. Calls to other hosts than the gateway are left alone.
"""

import contextlib
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

Place = tuple[str | None, int | None]


@dataclass(frozen=True)
class Identity:
    """One attempt at one rollout of one example."""

    example: int
    rollout: int
    attempt: int = 1

    def headers(self, role: str) -> dict[str, str]:
        return {
            "X-Prime-Example": str(self.example),
            "X-Prime-Rollout": str(self.rollout),
            "X-Prime-Attempt": str(self.attempt),
            "X-Prime-Role": role,
        }

    @property
    def path(self) -> str:
        """The same as a piece of a URL, for clients that cannot be given headers."""
        return f"r/{self.example}.{self.rollout}.{self.attempt}"


current: ContextVar[Identity | None] = ContextVar("prime_identity", default=None)


@contextlib.contextmanager
def acting_for(identity: Identity | None) -> Iterator[None]:
    """Calls made within, and in tasks started within, are made for `identity`."""
    token = current.set(identity)
    try:
        yield
    finally:
        current.reset(token)


def stamp_requests(base_url: str) -> None:
    """Make clients put the current identity on requests to the gateway at `base_url`."""
    target = urlsplit(base_url)
    place = (target.hostname, target.port)
    for name in ("httpx", "httpx2"):
        module = sys.modules.get(name)
        if module is not None:
            _stamp_sync(module.Client, place)
            _stamp_async(module.AsyncClient, place)


def _stamp_sync(client: Any, place: Place) -> None:
    plain_send = client.send

    def send(self: Any, request: Any, **options: Any) -> Any:
        _stamp(self, request, place)
        return plain_send(self, request, **options)

    client.send = send


def _stamp_async(client: Any, place: Place) -> None:
    plain_send = client.send

    async def send(self: Any, request: Any, **options: Any) -> Any:
        _stamp(self, request, place)
        return await plain_send(self, request, **options)

    client.send = send


def _stamp(client: Any, request: Any, place: Place) -> None:
    identity = current.get()
    if identity is None or (request.url.host, request.url.port) != place:
        return
    if "X-Prime-Example" not in request.headers:
        role = getattr(client, "prime_role", "judge")
        request.headers.update(identity.headers(role))
