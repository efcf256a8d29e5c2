"""What flows through the gateway: a call, its reply, and the steps between them."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.identity import Identity
from prime_cli.models.gateway.shapes import RequestHead


@dataclass(frozen=True, slots=True)
class Call:
    """One request of the worker; `path` starts after `/v1/`, `body` is as it came."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes
    identity: Identity
    head: RequestHead


@dataclass(slots=True)
class Reply:
    """What is sent back: a whole body, or `chunks` of an event stream; `endpoint` gave it."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    chunks: AsyncGenerator[bytes, None] | None = None
    estimated: bool = False
    endpoint: Endpoint | None = None


class CallFailed(Exception):
    """A call that ends without an answer of the model.

    `blame` is the error class of the rollout (model, infra or environment), `code` a short word
    for machines; `retryable` says whether the same call may succeed a moment later.
    """

    def __init__(
        self, message: str, *, status: int, blame: str, code: str, retryable: bool = False
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.blame = blame
        self.code = code
        self.retryable = retryable


@dataclass(frozen=True)
class Waits:
    """What the calls of a gateway wait for: `held` of `calls` for leave to call after a refusal.

    The first of these is made again in `next_seconds`; 0 where nobody can tell. No endpoint has
    answered for `silent_seconds`; 0 where none is asked.
    """

    calls: int = 0
    held: int = 0
    silent_seconds: float = 0.0
    next_seconds: float = 0.0


Handler = Callable[[Call], Awaitable[Reply]]
Step = Callable[[Call, Handler], Awaitable[Reply]]


def chain(steps: Sequence[Step], handler: Handler) -> Handler:
    """`handler` behind `steps`; the first step sees a call first and its reply last."""
    for step in reversed(steps):
        handler = _behind(step, handler)
    return handler


def _behind(step: Step, handler: Handler) -> Handler:
    async def handle(call: Call) -> Reply:
        return await step(call, handler)

    return handle
