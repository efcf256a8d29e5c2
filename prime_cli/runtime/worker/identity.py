"""Who a model call is made for: carried by a context variable, stamped on every request.

All HTTP of Python's model clients goes through httpx. `stamp_requests` wraps the one method that
every request passes, so that the environment's own clients (judges, say) are known as well as
the policy's. Calls to other hosts than the gateway are left alone.
"""

import contextlib
from contextvars import ContextVar
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Identity:
    """One attempt at one rollout of one example."""

    example: int
    rollout: int
    attempt: int = 1

    def headers(self, role):
        return {
            "X-Prime-Example": str(self.example),
            "X-Prime-Rollout": str(self.rollout),
            "X-Prime-Attempt": str(self.attempt),
            "X-Prime-Role": role,
        }

    @property
    def path(self):
        """The same as a piece of a URL, for clients that cannot be given headers."""
        return f"r/{self.example}.{self.rollout}.{self.attempt}"


current = ContextVar("prime_identity", default=None)


@contextlib.contextmanager
def acting_for(identity):
    """Calls made within, and in tasks started within, are made for `identity`."""
    token = current.set(identity)
    try:
        yield
    finally:
        current.reset(token)


def stamp_requests(base_url):
    """Make httpx put the current identity on requests to the gateway at `base_url`."""
    import httpx

    target = urlsplit(base_url)
    place = (target.hostname, target.port)

    def stamp(client, request):
        identity = current.get()
        url = request.url
        if identity is None or (url.host, url.port) != place:
            return
        if "X-Prime-Example" not in request.headers:
            role = getattr(client, "prime_role", "judge")
            request.headers.update(identity.headers(role))

    plain_send, async_send = httpx.Client.send, httpx.AsyncClient.send

    def send(self, request, **options):
        stamp(self, request)
        return plain_send(self, request, **options)

    async def send_async(self, request, **options):
        stamp(self, request)
        return await async_send(self, request, **options)

    httpx.Client.send = send
    httpx.AsyncClient.send = send_async
