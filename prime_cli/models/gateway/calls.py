"""What flows through the gateway: calls, replies, and the parts of OpenAI's format that are read.

The rest of a payload passes through unread.
"""

import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from prime_cli.models.endpoints import Endpoint
from prime_cli.models.prices import TokenUsage


class StreamOptions(msgspec.Struct):
    """Options of a streamed request."""

    include_usage: bool = False


class RequestHead(msgspec.Struct):
    """The parts of a request that determine its route."""

    model: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None


class UsageObject(msgspec.Struct, frozen=True):
    """The usage of chat completions and completions (prompt, completion) or Responses.

    `asked` and `said` are tokens of the prompt and of the completion, of which `cached` and
    `reasoning` are a part; None for a count that is not there.
    """

    asked: int | None = None
    said: int | None = None
    cached: int = 0
    reasoning: int = 0
    total: int | None = None

    def to_usage(self, *, estimated: bool = False) -> TokenUsage:
        """One call's Usage."""
        asked, said = self.asked or 0, self.said or 0
        # Some services (such as xAI) exclude reasoning from the output; the total shows it.
        if self.reasoning and self.total == asked + said + self.reasoning:
            said += self.reasoning
        return TokenUsage(
            calls=1,
            input=asked,
            cached=min(self.cached, asked),
            output=said,
            reasoning=self.reasoning,
            estimated=int(estimated),
        )


def read_usage(found: Any) -> UsageObject | None:
    """The usage in an answer, however its numbers are written; None if nothing is counted.

    Servers send 5.0 and "5", and an empty object or null for none. A count below 0 counts nothing:
    added, it would keep a budget from ever being reached.
    """
    if not isinstance(found, dict):
        return None
    asked = _either(found, "prompt_tokens", "input_tokens")
    said = _either(found, "completion_tokens", "output_tokens")
    if (asked is None and said is None) or min(asked or 0, said or 0) < 0:
        return None
    return UsageObject(
        asked,
        said,
        cached=_detail(found, "prompt_tokens", "input_tokens", "cached_tokens"),
        reasoning=_detail(found, "completion_tokens", "output_tokens", "reasoning_tokens"),
        total=_count(found.get("total_tokens")),
    )


def _either(found: dict[str, Any], *names: str) -> int | None:
    counts = [count for name in names if (count := _count(found.get(name))) is not None]
    return next((count for count in counts if count), counts[0] if counts else None)


def _detail(found: dict[str, Any], first: str, second: str, name: str) -> int:
    details = found.get(f"{first}_details") or found.get(f"{second}_details")
    return max(0, _count(details.get(name)) or 0) if isinstance(details, dict) else 0


def _count(value: Any) -> int | None:
    """A whole number of tokens; None for anything else."""
    if isinstance(value, str) and _DIGITS.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return round(value) if abs(value) <= _MOST_TOKENS else None


_DIGITS = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?")
_MOST_TOKENS = 10**12
"""More in one call is no count."""


class CompletedResponse(msgspec.Struct):
    """The object inside the last event of a Responses stream."""

    usage: Any = None
    model: Any = None


class Answer(msgspec.Struct):
    """An answer, or one event of a streamed one."""

    usage: Any = None
    choices: Any = None
    response: CompletedResponse | None = None
    model: Any = None
    system_fingerprint: Any = None

    @property
    def any_model(self) -> str | None:
        """The model named in the answer; None if none is."""
        found = self.model or (self.response and self.response.model)
        return found if isinstance(found, str) and found else None

    @property
    def fingerprint(self) -> str | None:
        """The endpoint's fingerprint of the system that ran the model."""
        found = self.system_fingerprint
        return found if isinstance(found, str) and found else None

    @property
    def any_usage(self) -> UsageObject | None:
        """Usage, wherever this kind of answer has it; None if nothing is counted."""
        found = self.usage
        if found is None and self.response is not None:
            found = self.response.usage
        return read_usage(found)


class ErrorDetail(msgspec.Struct):
    """The part of an error body that retries use."""

    code: str | int | None = None
    type: str | None = None


class ErrorAnswer(msgspec.Struct):
    """An error in OpenAI's format."""

    error: ErrorDetail | None = None


_head_decoder = msgspec.json.Decoder(RequestHead)
_answer_decoder = msgspec.json.Decoder(Answer)
_error_decoder = msgspec.json.Decoder(ErrorAnswer)


def read_head(body: bytes) -> RequestHead:
    """The head of a JSON request; empty for any other body."""
    if not body[:64].lstrip().startswith(b"{"):
        return RequestHead()
    try:
        return _head_decoder.decode(body)
    except (msgspec.MsgspecError, RecursionError):
        return RequestHead()


def read_answer(body: bytes) -> Answer | None:
    """An answer's usage and choices; None if it is not such an object."""
    try:
        return _answer_decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def read_error_code(body: bytes) -> str | None:
    """The `code` or `type` of an error body."""
    try:
        detail = _error_decoder.decode(body).error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return str(detail.code or detail.type) if detail else None


def error_body(message: str, *, code: str, blame: str) -> bytes:
    """An error in OpenAI's format; `class` tells the worker whom to blame."""
    error = {
        "message": message,
        "type": f"{blame}_error",
        "param": None,
        "code": code,
        "class": blame,
    }
    return msgspec.json.encode({"error": error})


def with_fields(body: bytes, **fields: object) -> bytes:
    """A JSON object's bytes with some members replaced; the others keep their bytes."""
    members = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    return msgspec.json.encode({**members, **fields})


POLICY = "policy"
UNATTRIBUTED = "unattributed"
NOT_DONE = "x-prime-not-done"
"""The header in which a training engine names what was asked of the sampling and not done."""

_IDENTITY_PREFIX = re.compile(
    r"/r/(\d{1,12})\.(\d{1,9})\.(\d{1,9})(?:\.([a-z][a-z0-9_-]{0,30}))?(?=/)"
)
_NUMBER = re.compile(r"[0-9]{1,12}")
_ROLE = re.compile(r"[a-z][a-z0-9_-]{0,30}")


class CallIdentity(NamedTuple):
    """Example index, rollout and attempt of a call; None if the call does not say."""

    example: int | None = None
    rollout: int | None = None
    attempt: int | None = None
    role: str = UNATTRIBUTED

    @property
    def pair(self) -> tuple[int, int] | None:
        """Example index and rollout; None if the call belongs to no rollout."""
        if self.example is None or self.rollout is None:
            return None
        return self.example, self.rollout


def read_identity(path: str, headers: Mapping[str, str]) -> tuple[CallIdentity, str]:
    """The identity of a call, and its path without the prefix that may carry it.

    `/r/<example>.<rollout>.<attempt>[.<role>]/v1/…`, else the headers X-Prime-Example, -Rollout,
    -Attempt and -Role. A rollout's call is its policy's unless it names another role. A call
    without a readable rollout is unattributed, never guessed.
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
    """A request from the worker; `path` starts after `/v1/`, `body` is unchanged."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes
    identity: CallIdentity
    head: RequestHead


@dataclass(slots=True)
class Reply:
    """A response: a whole body, or `chunks` of an event stream; `endpoint` produced it."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    chunks: AsyncGenerator[bytes, None] | None = None
    estimated: bool = False
    endpoint: Endpoint | None = None


class CallFailed(Exception):
    """A call that ends without a model's answer.

    `blame` is the error class of the rollout (model, infra or environment), `code` a short word for
    machines; `retryable` says whether the same call may succeed a moment later.
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
    """What a gateway's calls are waiting for: `held` of `calls` wait after a refusal.

    The first of these is retried in `next_seconds`; 0 if unknown. No endpoint has answered for
    `silent_seconds`; 0 if no call is under way.
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
