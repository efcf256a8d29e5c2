"""What flows through the gateway: calls with their rollouts, replies, and steps between them."""

import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.payloads import RequestHead

POLICY = "policy"
UNATTRIBUTED = "unattributed"

_IDENTITY_PREFIX = re.compile(
    r"/r/(\d{1,12})\.(\d{1,9})\.(\d{1,9})(?:\.([a-z][a-z0-9-]{0,30}))?(?=/)"
)
_NUMBER = re.compile(r"[0-9]{1,12}")
_ROLE = re.compile(r"[a-z][a-z0-9-]{0,30}")


class CallIdentity(NamedTuple):
    """Example index, rollout and attempt of a call; None where the call does not say."""

    example: int | None = None
    rollout: int | None = None
    attempt: int | None = None
    role: str = UNATTRIBUTED


def read_identity(path: str, headers: Mapping[str, str]) -> tuple[CallIdentity, str]:
    """The identity of a call, and its path without the prefix that may carry it.

    `/r/<example>.<rollout>.<attempt>[.<role>]/v1/…`, else the headers X-Prime-Example, -Rollout,
    -Attempt and -Role. A rollout's call is its policy's unless it names another role. A call that
    names no rollout, or one that cannot be read, is unattributed: never guessed.
    """
    named = headers.get("X-Prime-Role", "")
    role = named if _ROLE.fullmatch(named) else None
    if match := _IDENTITY_PREFIX.match(path):
        example, rollout, attempt = (int(part) for part in match.group(1, 2, 3))
        identity = CallIdentity(example, rollout, attempt, match.group(4) or role or POLICY)
        return identity, path[match.end() :]
    parts = [headers.get(f"X-Prime-{part}", "") for part in ("Example", "Rollout", "Attempt")]
    if all(_NUMBER.fullmatch(part) for part in parts):
        example, rollout, attempt = (int(part) for part in parts)
        return CallIdentity(example, rollout, attempt, role or POLICY), path
    return CallIdentity(role=role if role and role != POLICY else UNATTRIBUTED), path


@dataclass(frozen=True, slots=True)
class Call:
    """One request of the worker; `path` starts after `/v1/`, `body` is as it came."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes
    identity: CallIdentity
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
class WaitStatus:
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
