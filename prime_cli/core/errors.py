"""Every failure a user can meet, and the exit code each one ends with.

PrimeError
├── UsageError (2)          wrong words on the command line or in a file
│   ├── BadReference        not `owner/name` or `owner/name@version`
│   └── BadProject          pyproject.toml is missing, broken or incomplete
├── GateFailed (1)          a gate or a check did not pass
├── PartialResult (3)       a run ended with errors above the limit, or at a cap
├── NotAllowed (4)          the hub or an endpoint refused
│   ├── NotLoggedIn         no key where one is needed
│   ├── NotTrusted          code of somebody whom nobody here has trusted
│   └── TakenDown           the hub's admins have taken it down
├── Unreachable (5)         no answer from a hub, an index or a model endpoint
│   ├── Offline             a socket was needed under `--offline`
│   ├── RateLimited         asked too often; to be tried again later
│   └── TooSlow             the bytes of a request did not come in time
├── NotFound (6)            no such environment, version, run or file
├── Conflict (7)            taken, already there, locked, or a refused resume
├── IntegrityError (8)      bytes are not what was promised
│   ├── UnsafeContent       an archive, a path or a secret that must not pass
│   └── TooLarge            more bytes, members or items than the hub takes
├── EnvironmentFailed (9)   the environment or its tools failed
│   ├── BuildFailed         the build backend failed
│   ├── ResolveFailed       no set of packages works
│   ├── LoadFailed          the environment's own code raised
│   ├── WorkerDied          its process ended without a word
│   ├── EngineFailed        a model's engine did not start, refused, or died
│   ├── PodFailed           a machine that was rented did not come up
│   └── ImagePullFailed     the image of a sandbox cannot be fetched
├── Declined (130)          a person said no, or nothing, to a question; nothing was done
├── StorageFailed (74)      disk full, read-only, or not writable
└── InternalError (70)      our own bug
"""

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes; 70 and 74 follow BSD sysexits, 130 and 143 are 128 + the signal."""

    OK = 0
    GATE = 1
    USAGE = 2
    PARTIAL = 3
    NOT_ALLOWED = 4
    UNREACHABLE = 5
    NOT_FOUND = 6
    CONFLICT = 7
    INTEGRITY = 8
    ENVIRONMENT = 9
    INTERNAL = 70
    STORAGE = 74
    INTERRUPTED = 130
    TERMINATED = 143


class PrimeError(Exception):
    """A failure reported to the user in one sentence.

    `hint` names the next command or step; `detail` holds lines from another program (a build
    backend, a resolver, a traceback) shown below the sentence. `names_places` says that the
    sentence names folders or addresses of this machine, which a served hub shows to admins only.
    """

    code = "error"
    exit_code = ExitCode.INTERNAL
    names_places = False

    def __init__(self, message: str, *, hint: str | None = None, detail: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.detail = detail


class UsageError(PrimeError):
    """The command line, a flag's value or a user's file is invalid.

    `param` names the part of a hub request at fault, if there is a single one: a query parameter,
    or the place in the body, as `pod.gpuCount`.
    """

    code = "usage"
    exit_code = ExitCode.USAGE

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        detail: str | None = None,
        param: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint, detail=detail)
        self.param = param


class BadReference(UsageError):
    """The text is not `owner/name` or `owner/name@version`."""

    code = "bad_reference"


class BadProject(UsageError):
    """A project's pyproject.toml is missing, broken or lacks a needed value."""

    code = "bad_project"


class GateFailed(PrimeError):
    """A gate or a check did not pass."""

    code = "gate_failed"
    exit_code = ExitCode.GATE


class PartialResult(PrimeError):
    """Work ended with errors above the limit, or at a cap; what was done is kept."""

    code = "partial_result"
    exit_code = ExitCode.PARTIAL


class NotAllowed(PrimeError):
    """The hub or an endpoint refused the request."""

    code = "not_allowed"
    exit_code = ExitCode.NOT_ALLOWED


class NotLoggedIn(NotAllowed):
    """A key is needed and none is known, or the one sent is not valid."""

    code = "not_logged_in"


class NotTrusted(NotAllowed):
    """Code of an owner not trusted on this machine, or without a required signature."""

    code = "not_trusted"


class TakenDown(NotAllowed):
    """An admin of the hub has taken it down; the sentence says why."""

    code = "taken_down"


class Unreachable(PrimeError):
    """No answer from a hub, a package index or a model endpoint.

    `retry_after` is when to ask again, in seconds, if that is known.
    """

    code = "unreachable"
    exit_code = ExitCode.UNREACHABLE

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        detail: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, hint=hint, detail=detail)
        self.retry_after = retry_after


class Offline(Unreachable):
    """A connection was needed while `--offline` or PRIME_OFFLINE is set."""

    code = "offline"


class RateLimited(Unreachable):
    """Too many requests to a hub or an endpoint."""

    code = "rate_limited"


class TooSlow(Unreachable):
    """The bytes of a request did not come in time."""

    code = "too_slow"


class NotFound(PrimeError):
    """No such environment, version, run, file or model."""

    code = "not_found"
    exit_code = ExitCode.NOT_FOUND


class Conflict(PrimeError):
    """The name or version is taken, a folder is locked, or a resume is refused."""

    code = "conflict"
    exit_code = ExitCode.CONFLICT


class IntegrityError(PrimeError):
    """Bytes do not have the expected digest, size or format."""

    code = "integrity"
    exit_code = ExitCode.INTEGRITY


class UnsafeContent(IntegrityError):
    """An unsafe archive member or path, or a likely secret."""

    code = "unsafe_content"


class TooLarge(IntegrityError):
    """More bytes, members or items than the hub accepts."""

    code = "too_large"


class EnvironmentFailed(PrimeError):
    """The environment, or a tool run for it, failed."""

    code = "environment_failed"
    exit_code = ExitCode.ENVIRONMENT


class BuildFailed(EnvironmentFailed):
    """The build backend failed or built something unusable."""

    code = "build_failed"


class ResolveFailed(EnvironmentFailed):
    """No set of packages or no interpreter satisfies the environment."""

    code = "resolve_failed"


class LoadFailed(EnvironmentFailed):
    """The environment's own code raised while it was imported or loaded."""

    code = "load_failed"


class WorkerDied(EnvironmentFailed):
    """The process that runs an environment ended silently: it crashed, or was killed."""

    code = "worker_died"


class EngineFailed(EnvironmentFailed):
    """The program that serves a model did not start, refused the first call, or ended."""

    code = "engine_failed"


class PodFailed(EnvironmentFailed):
    """A pod ended in ERROR, or disappeared, before it was up."""

    code = "pod_failed"


class ImagePullFailed(EnvironmentFailed):
    """The image of a sandbox cannot be fetched."""

    code = "image_pull_failed"


class Declined(PrimeError):
    """The user did not confirm, so nothing was done.

    The exit code is that of Ctrl-C at the question: either way the command was stopped, and a
    script must not go on.
    """

    code = "declined"
    exit_code = ExitCode.INTERRUPTED


class StorageFailed(PrimeError):
    """A folder or file could not be written or read: disk full, read-only, permissions."""

    code = "storage_failed"
    exit_code = ExitCode.STORAGE


class InternalError(PrimeError):
    """A bug of ours."""

    code = "internal"
    exit_code = ExitCode.INTERNAL


def error_classes() -> dict[str, type[PrimeError]]:
    """Every class of the tree by its `code`, which is what the wire carries."""
    found: dict[str, type[PrimeError]] = {}
    waiting: list[type[PrimeError]] = [PrimeError]
    while waiting:
        cls = waiting.pop()
        found[cls.code] = cls
        waiting.extend(cls.__subclasses__())
    return found
