"""Who a model call is made for: carried by a context variable, stamped on every request.

All HTTP of Python's model clients goes through httpx or its successor httpx2. `stamp_requests`
wraps the one method that every request passes, so that the environment's own clients (judges,
say) are known as well as the policy's. Calls to other hosts than the gateway are left as they are;
one that carries the gateway's token and is refused there is told, since no key was wrong: the
token stands in for the user's OPENAI_API_KEY.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

Place = tuple[str | None, int | None]
OnRefused = Callable[[str], None]
"""Told the host that refused the gateway's token."""

REFUSALS = (401, 403)


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


def stamp_requests(base_url: str, token: str, on_refused: OnRefused) -> None:
    """Make clients put the current identity on requests to the gateway at `base_url`.

    `on_refused` is told of other hosts that refuse the gateway's `token`, each once.
    """
    target = urlsplit(base_url)
    place = (target.hostname, target.port)
    refusals = Refusals(place, token, on_refused)
    for name in ("httpx", "httpx2"):
        module = sys.modules.get(name)
        if module is not None:
            _stamp_sync(module.Client, place, refusals)
            _stamp_async(module.AsyncClient, place, refusals)


class Refusals:
    """Answers of other hosts to calls that carry the gateway's token."""

    def __init__(self, gateway: Place, token: str, on_refused: OnRefused) -> None:
        self._gateway = gateway
        self._token = token
        self._on_refused = on_refused
        self._told: set[str] = set()

    def look(self, request: Any, response: Any) -> None:
        """Tell of the host of `request` where it refused the token."""
        host = request.url.host
        if response.status_code not in REFUSALS or host in self._told:
            return
        if (host, request.url.port) != self._gateway and self._carries_token(request.headers):
            self._told.add(host)
            self._on_refused(host)

    def _carries_token(self, headers: Any) -> bool:
        given = (headers.get(name, "") for name in ("authorization", "x-api-key", "api-key"))
        return any(value.rpartition(" ")[2] == self._token for value in given)


def _stamp_sync(client: Any, place: Place, refusals: Refusals) -> None:
    plain_send = client.send

    def send(self: Any, request: Any, **options: Any) -> Any:
        _stamp(self, request, place)
        response = plain_send(self, request, **options)
        refusals.look(request, response)
        return response

    client.send = send


def _stamp_async(client: Any, place: Place, refusals: Refusals) -> None:
    plain_send = client.send

    async def send(self: Any, request: Any, **options: Any) -> Any:
        _stamp(self, request, place)
        response = await plain_send(self, request, **options)
        refusals.look(request, response)
        return response

    client.send = send


def _stamp(client: Any, request: Any, place: Place) -> None:
    identity = current.get()
    if identity is None or (request.url.host, request.url.port) != place:
        return
    if "X-Prime-Example" not in request.headers:
        role = getattr(client, "prime_role", "judge")
        request.headers.update(identity.headers(role))
