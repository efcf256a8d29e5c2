"""Which rollout a model call belongs to: a context variable, stamped on every request.

All HTTP of Python's model clients goes through httpx or its successor httpx2. `stamp_requests`
wraps the one method that every request passes, so that calls of the environment's own clients, such
as judges, are attributed as well. Calls to other hosts are not changed. If one of them carries the
gateway's token, which stands in for the user's OPENAI_API_KEY, and is refused, that is reported.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

HostPort = tuple[str | None, int | None]
OnRefused = Callable[[str], None]
"""Called with the host that refused the gateway's token."""

REFUSALS = (401, 403)
ROLE_HEADER = "X-Prime-Role"


@dataclass(frozen=True)
class RolloutIdentity:
    """One attempt at one rollout of one example."""

    example: int
    rollout: int
    attempt: int = 1

    def headers(self, role: str) -> dict[str, str]:
        return {
            "X-Prime-Example": str(self.example),
            "X-Prime-Rollout": str(self.rollout),
            "X-Prime-Attempt": str(self.attempt),
            ROLE_HEADER: role,
        }

    @property
    def path(self) -> str:
        """The identity as a path segment, for clients without custom headers."""
        return f"r/{self.example}.{self.rollout}.{self.attempt}"


current: ContextVar[RolloutIdentity | None] = ContextVar("prime_identity", default=None)


@contextlib.contextmanager
def acting_for(identity: RolloutIdentity | None) -> Iterator[None]:
    """Attribute calls within the context, and in tasks started there, to `identity`."""
    token = current.set(identity)
    try:
        yield
    finally:
        current.reset(token)


def stamp_requests(base_url: str, token: str, on_refused: OnRefused) -> None:
    """Stamp the current identity on requests to the gateway at `base_url`.

    `on_refused` is called once for each other host that refuses the gateway's `token`.
    """
    target = urlsplit(base_url)
    gateway = (target.hostname, target.port)
    refusals = Refusals(gateway, token, on_refused)
    for name in ("httpx", "httpx2"):
        module = sys.modules.get(name)
        if module is not None:
            _stamp_sync(module.Client, gateway, refusals)
            _stamp_async(module.AsyncClient, gateway, refusals)


class Refusals:
    """Responses of other hosts to calls with the gateway's token."""

    def __init__(self, gateway: HostPort, token: str, on_refused: OnRefused) -> None:
        self._gateway = gateway
        self._token = token
        self._on_refused = on_refused
        self._reported: set[str] = set()

    def check(self, request: Any, response: Any) -> None:
        """Report the host of `request` if it refused the token."""
        host = request.url.host
        if response.status_code not in REFUSALS or host in self._reported:
            return
        if (host, request.url.port) != self._gateway and self._carries_token(request.headers):
            self._reported.add(host)
            self._on_refused(host)

    def _carries_token(self, headers: Any) -> bool:
        given = (headers.get(name, "") for name in ("authorization", "x-api-key", "api-key"))
        return any(value.rpartition(" ")[2] == self._token for value in given)


def _stamp_sync(client: Any, gateway: HostPort, refusals: Refusals) -> None:
    plain_send = client.send

    def send(self: Any, request: Any, **options: Any) -> Any:
        _stamp(self, request, gateway)
        response = plain_send(self, request, **options)
        refusals.check(request, response)
        return response

    client.send = send


def _stamp_async(client: Any, gateway: HostPort, refusals: Refusals) -> None:
    plain_send = client.send

    async def send(self: Any, request: Any, **options: Any) -> Any:
        _stamp(self, request, gateway)
        response = await plain_send(self, request, **options)
        refusals.check(request, response)
        return response

    client.send = send


def _stamp(client: Any, request: Any, gateway: HostPort) -> None:
    identity = current.get()
    if identity is None or (request.url.host, request.url.port) != gateway:
        return
    if "X-Prime-Example" not in request.headers:
        role = getattr(client, "prime_role", "judge")
        request.headers.update(identity.headers(role))
