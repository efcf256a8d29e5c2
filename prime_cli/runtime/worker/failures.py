"""Exceptions of environments and model clients, sorted by whose fault they are.

Told by class names along the cause chain, since the classes themselves differ between releases
of `verifiers` and `openai`, and none of them need be importable here.
"""

import traceback
from collections.abc import Iterable
from typing import Any

CONNECTION = {
    "APIConnectionError", "APITimeoutError", "RateLimitError", "InternalServerError",
    "ConnectError", "TransportError", "ServerDisconnectedError", "ClientConnectionError",
    "InfraError", "SandboxError", "TunnelError", "InterceptionError",
}  # fmt: skip
REFUSED = {"APIStatusError", "BadRequestError"}
NOT_LET_IN = {"AuthenticationError", "PermissionDeniedError", "NotFoundError"}
UNUSABLE = {
    "EmptyModelResponseError", "InvalidModelResponseError", "APIResponseValidationError",
    "LengthFinishReasonError", "ContentFilterFinishReasonError",
}  # fmt: skip
MODEL = {"ModelError", "ProviderError", "OpenAIError", "AnthropicError"}
CLASSES = ("infra", "model", "environment")
CLIENT_MODULES = {"openai", "httpx", "httpx2", "httpcore", "httpcore2"}
RETRY_LATER = {408, 409, 425, 429}
NO_ACCESS = {401, 402, 403, 404}
"""A key, an account or an address that is wrong says nothing of the model."""
SERVER_FAULT = 500


Verdict = tuple[str, bool]


class StageFailed(Exception):
    """The worker cannot go on: what it was doing (`stage`), and the exception that says why."""

    def __init__(self, stage: str, error: BaseException | None) -> None:
        super().__init__(str(error))
        self.stage = stage
        self.error = error


class BadArguments(Exception):
    """The keywords given do not fit load_environment; the message names those that do."""


class RewardFailed(Exception):
    """A reward function raised, which verifiers logs and counts as 0."""


class GroupFailed(Exception):
    """Another rollout of the same group failed, so the group could not be scored."""


def describe(error: BaseException) -> dict[str, Any]:
    """An exception as the `error` field of a rollout."""
    kind, retryable = classify(error)
    return {
        "class": kind,
        "type": type(error).__name__,
        "message": message_of(error),
        "retryable": retryable,
        "traceback": traceback_of(error) if kind == "environment" and error.__traceback__ else None,
    }


def classify(error: BaseException) -> Verdict:
    """(class, whether another attempt may succeed) of an exception."""
    for link in chain(error):
        found = _by_status(link) or _by_name(link)
        if found:
            return found
    if _raised_in_client(error):
        return "model", True
    return "environment", False


def by_status(status: int, blamed: Any = None) -> Verdict:
    """The same for the HTTP status of a model call; `blamed` is the class that the gateway says.

    Only the gateway can tell an endpoint that is down from one that answers nonsense.
    """
    if blamed in CLASSES:
        return blamed, status >= SERVER_FAULT
    if status in RETRY_LATER or status >= SERVER_FAULT:
        return "infra", True
    return ("infra" if status in NO_ACCESS else "model"), False


def chain(error: BaseException | None) -> Iterable[BaseException]:
    """The exception and its causes, the deepest first: it knows best."""
    links = []
    while error is not None and error not in links:
        links.append(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return reversed(links)


def message_of(error: BaseException) -> str:
    links = [str(link) for link in chain(error)]
    own = str(error) or next((text for text in links if text), "")
    return own[:2000]


def traceback_of(error: BaseException) -> str:
    lines = traceback.format_exception(type(error), error, error.__traceback__, limit=-20)
    return "".join(lines)[-8000:]


def _by_status(error: BaseException) -> Verdict | None:
    status = getattr(error, "status_code", None)
    of_a_client = CONNECTION | NOT_LET_IN | REFUSED | MODEL
    if not isinstance(status, int) or not _names(error) & of_a_client:
        return None
    body = getattr(error, "body", None)
    return by_status(status, body.get("class") if isinstance(body, dict) else None)


def _by_name(error: BaseException) -> Verdict | None:
    names = _names(error)
    if names & UNUSABLE:
        return "model", True
    if names & CONNECTION:
        return "infra", True
    if names & NOT_LET_IN:
        return "infra", False
    if names & REFUSED:
        return "model", False
    return ("model", True) if names & MODEL and error.__cause__ is None else None


def _names(error: BaseException) -> set[str]:
    return {cls.__name__ for cls in type(error).__mro__}


def _raised_in_client(error: BaseException) -> bool:
    """Whether the model client itself raised: an answer that is not JSON, for one."""
    deepest = next(iter(chain(error)))
    trace = deepest.__traceback__
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "")
        if module.partition(".")[0] in CLIENT_MODULES:
            return True
        trace = trace.tb_next
    return False
