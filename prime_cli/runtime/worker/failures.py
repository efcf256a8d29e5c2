"""Exceptions of environments and model clients by whose fault they are, with tracebacks.

Classified by class names along the cause chain, since the classes themselves differ between
releases of `verifiers` and `openai`, and none of them need be importable here. Tracebacks are
short, and always include the environment's own lines.
"""

import asyncio
import os
import re
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

MOST_FRAMES = 20
LAST_FRAMES = 6
"""Frames kept of a longer stack whoever owns them: they say what went wrong."""
MOST_OF_A_MESSAGE = 2000
MOST_OF_A_NAME = 200
MOST_OF_A_LINE = 1000
MOST_CHARACTERS = 8000

LIBRARIES = frozenset(
    {
        "verifiers", "openai", "anthropic", "httpx", "httpx2", "httpcore", "httpcore2", "anyio",
        "aiohttp", "pydantic", "datasets", "tenacity",
    }
)  # fmt: skip
_STANDARD = f"{Path(os.__file__).parent}{os.sep}"
_WORKER = f"{Path(__file__).parent}{os.sep}"
_PACKAGES = f"{os.sep}site-packages{os.sep}"


_whole = False


def keep_whole_tracebacks() -> None:
    """From now on no frame of an environment's traceback is left out."""
    global _whole  # noqa: PLW0603 - of the process, as its terminal is
    _whole = True


def traceback_of(error: BaseException) -> str:
    """The traceback of `error` and its causes, of at most MOST_CHARACTERS unless kept whole."""
    formatted = traceback.TracebackException.from_exception(error)
    for link in _links(formatted):
        link.stack = traceback.StackSummary.from_list(_shown(list(link.stack)))
    return cut_traceback("".join(_cut(line) for line in formatted.format()))


def cut_traceback(text: str) -> str:
    """`text`, or its last MOST_CHARACTERS unless tracebacks are kept whole."""
    return text if _whole else text[-MOST_CHARACTERS:]


def was_raised(error: BaseException) -> bool:
    """Whether there is a traceback of `error` or its causes."""
    seen: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in seen:
        if link.__traceback__ is not None:
            return True
        seen.append(link)
        link = link.__cause__ or link.__context__
    return False


def _links(formatted: traceback.TracebackException) -> Iterator[traceback.TracebackException]:
    waiting, seen = [formatted], set[int]()
    while waiting:
        link = waiting.pop()
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        nested = getattr(link, "exceptions", None) or []  # of a group of exceptions
        waiting += [other for other in (link.__cause__, link.__context__, *nested) if other]


def _shown(frames: list[traceback.FrameSummary]) -> list[traceback.FrameSummary]:
    """`frames` without the worker's; if too many, the environment's own and the last ones."""
    frames = [frame for frame in frames if not frame.filename.startswith(_WORKER)] or frames
    if _whole or len(frames) <= MOST_FRAMES:
        return frames
    last = frames[-LAST_FRAMES:]
    own = [frame for frame in frames[:-LAST_FRAMES] if not _is_library(frame.filename)]
    return own[-(MOST_FRAMES - LAST_FRAMES) :] + last


def _is_library(filename: str) -> bool:
    before, _, inside = filename.rpartition(_PACKAGES)
    if before:
        return inside.partition(os.sep)[0] in LIBRARIES
    return filename.startswith((_STANDARD, "<frozen"))


def _cut(line: str) -> str:
    if _whole or len(line) <= MOST_OF_A_LINE:
        return line
    return line[:MOST_OF_A_LINE].rstrip("\n") + " …\n"


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
SANDBOX_CLIENT, TUNNEL_CLIENT = "prime_sandboxes", "prime_tunnel"
NO_TUNNEL = "prime has no tunnel from a sandbox to this machine"
GATEWAY_PATH = "/hub"
"""The end of the hub's address where the run's gateway stands for it; see `session.HUB`."""
NO_SUCH_SANDBOX = {"SandboxImagePullError"}
_REFUSED_WISH = re.compile(r"\bHTTP (?:400|413|422)\b|\bIMAGE_PULL_FAILED\b")
NO_ACCESS = {401, 402, 403, 404}
"""A wrong key, account or address says nothing about the model."""
SERVER_FAULT = 500


Verdict = tuple[str, bool]


class StageFailed(Exception):
    """The worker cannot go on: the `stage` it was in, and the exception that says why."""

    def __init__(self, stage: str, error: BaseException | None) -> None:
        super().__init__(str(error))
        self.stage = stage
        self.error = error


class BadArguments(Exception):
    """The keywords do not fit load_environment; the message lists those that do."""


class RewardFailed(Exception):
    """A reward function raised `error`, which verifiers logs and counts as 0."""

    def __init__(self, message: str, error: BaseException | None = None) -> None:
        super().__init__(message)
        self.error = error


class CodeExit(Exception):
    """The environment's code raised what ends a program, such as SystemExit: its cause."""


class HostRefused(PermissionError):
    """A connection past the gateway, which `--only-gateway` refuses."""


class GroupFailed(Exception):
    """Another rollout of the same group failed, so the group could not be scored."""


def describe(error: BaseException, *, in_scoring: bool = False) -> dict[str, Any]:
    """An exception as a rollout's `error` field; `in_scoring`: its answer was complete by then."""
    # Clients hide it behind their own "Connection error.".
    error = next((link for link in chain(error) if isinstance(link, HostRefused)), error)
    kind, retryable = classify(error)
    reason = f"{NO_TUNNEL}: " if lacks_tunnel(error) else ""
    raised = error.error if isinstance(error, RewardFailed) and error.error else error
    if isinstance(error, CodeExit) and error.__cause__ is not None:
        error = error.__cause__
    return {
        "class": kind,
        "type": type(error).__name__[:MOST_OF_A_NAME],
        "message": reason + message_of(error),
        "retryable": retryable,
        "traceback": traceback_of(raised) if was_raised(raised) else None,
        "in_scoring": in_scoring,
    }


def is_cancellation(error: BaseException) -> bool:
    """Whether `error` is the run's cancellation of this task, which an environment may also raise.

    asyncio counts the requests to cancel a task (Task.cancelling).
    """
    task = asyncio.current_task() if isinstance(error, asyncio.CancelledError) else None
    return task is not None and bool(getattr(task, "cancelling", lambda: 1)())


def error_in(state: Mapping[str, Any]) -> Any:
    """What verifiers counts as the failure of a v0 rollout: `state["error"]`, whatever it is.

    Up to 0.1.8 verifiers never reads that key: it is the environment's own. Its meaning came with
    the class `vf.Error`, in 0.1.9.
    """
    counts = hasattr(sys.modules.get("verifiers"), "Error")
    return state.get("error") if counts else None


def classify(error: BaseException) -> Verdict:
    """(class, whether another attempt may succeed) of an exception."""
    if lacks_tunnel(error):
        return "environment", False
    for link in chain(error):
        found = _by_sandbox(link) or _by_status(link) or _by_name(link)
        if found:
            return found
    if _raised_in_client(error):
        return "model", True
    return "environment", False


def lacks_tunnel(error: BaseException) -> bool:
    """Whether a tunnel failed that could not be: the run's gateway has none.

    With a key of the user's own, the client asks Prime's servers, whose failures may pass.
    """
    hub = os.environ.get("PRIME_API_BASE_URL", "")
    return hub.endswith(GATEWAY_PATH) and any(_is_of(link, TUNNEL_CLIENT) for link in chain(error))


def by_status(status: int, blamed: Any = None) -> Verdict:
    """The same for the HTTP status of a model call; `blamed` is the class given by the gateway.

    Only the gateway can tell an endpoint that is down from one that returns nonsense.
    """
    if blamed in CLASSES:
        return blamed, status >= SERVER_FAULT
    if status in RETRY_LATER or status >= SERVER_FAULT:
        return "infra", True
    return ("infra" if status in NO_ACCESS else "model"), False


def chain(error: BaseException | None) -> Iterable[BaseException]:
    """The exception and its causes, deepest first, as that is the most specific."""
    links = []
    while error is not None and error not in links:
        links.append(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return reversed(links)


def message_of(error: BaseException) -> str:
    links = [str(link) for link in chain(error)]
    own = str(error) or next((text for text in links if text), "")
    if not isinstance(error, Exception):
        own = f"the environment's code raised {type(error).__name__}{f': {own}' if own else ''}"
    return shorten(own)


def shorten(text: str) -> str:
    """Its first MOST_OF_A_MESSAGE characters, and how many there were."""
    if len(text) <= MOST_OF_A_MESSAGE:
        return text
    return f"{text[:MOST_OF_A_MESSAGE]} … ({len(text):,} characters)"


def _by_status(error: BaseException) -> Verdict | None:
    status = getattr(error, "status_code", None)
    of_a_client = CONNECTION | NOT_LET_IN | REFUSED | MODEL
    if not isinstance(status, int) or not _names(error) & of_a_client:
        return None
    body = getattr(error, "body", None)
    return by_status(status, body.get("class") if isinstance(body, dict) else None)


def _by_sandbox(error: BaseException) -> Verdict | None:
    """A wish that no sandbox here can meet, such as an image: asking again would not help."""
    refused = _is_of(error, SANDBOX_CLIENT) and (
        _names(error) & NO_SUCH_SANDBOX or _REFUSED_WISH.search(str(error))
    )
    return ("environment", False) if refused else None


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


def _is_of(error: BaseException, package: str) -> bool:
    return type(error).__module__.partition(".")[0] == package


def _names(error: BaseException) -> set[str]:
    return {cls.__name__ for cls in type(error).__mro__}


def _raised_in_client(error: BaseException) -> bool:
    """Whether the model client itself raised, such as for an answer that is not JSON."""
    deepest = next(iter(chain(error)))
    trace = deepest.__traceback__
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "")
        if module.partition(".")[0] in CLIENT_MODULES:
            return True
        trace = trace.tb_next
    return False
