"""Errors on the wire: `{"detail": sentence, "code": …, "hint": …}`.

Official clients show `detail`, and branch on words in it; `code` lets our client raise the class
that the hub raised. A 422 also has `errors`, as in the published schemas.
"""

import math

import msgspec

from prime_cli.core.errors import (
    Conflict,
    IntegrityError,
    InternalError,
    NotAllowed,
    NotFound,
    NotLoggedIn,
    PrimeError,
    RateLimited,
    StorageFailed,
    TakenDown,
    TooLarge,
    TooSlow,
    Unreachable,
    UsageError,
    error_classes,
)

STATUS_OF: dict[type[PrimeError], int] = {
    NotLoggedIn: 401,
    NotAllowed: 403,
    NotFound: 404,
    TooSlow: 408,
    Conflict: 409,
    TooLarge: 413,
    TakenDown: 451,
    IntegrityError: 422,
    UsageError: 422,
    RateLimited: 429,
    Unreachable: 503,
    StorageFailed: 507,
}

_BY_STATUS: dict[int, type[PrimeError]] = {
    400: UsageError,
    401: NotLoggedIn,
    402: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    405: UsageError,
    408: TooSlow,
    409: Conflict,
    413: TooLarge,
    422: UsageError,
    429: RateLimited,
    451: TakenDown,
    507: StorageFailed,
}

_SERVER_ERRORS = 500


WHOLE_REQUEST = "request"
"""The `param` of an error that concerns no single part of a request."""

_NOT_VALID = 422


class Wrong(msgspec.Struct):
    """An error in one part of a request: `ErrorDetail` of the published schemas."""

    param: str
    details: str


class Problem(msgspec.Struct, omit_defaults=True):
    """The body of every error answer."""

    detail: str
    code: str | None = None
    hint: str | None = None
    errors: list[Wrong] = []


def status_of(error: PrimeError) -> int:
    """The HTTP status of an error class: that of its nearest listed ancestor."""
    for cls in type(error).__mro__:
        if cls in STATUS_OF:
            return STATUS_OF[cls]
    return 500


def to_problem(error: PrimeError) -> Problem:
    """The hub's answer for `error`."""
    problem = Problem(detail=error.message, code=error.code, hint=error.hint)
    if status_of(error) == _NOT_VALID:
        param = error.param if isinstance(error, UsageError) else None
        problem.errors = [Wrong(param or WHOLE_REQUEST, error.message)]
    return problem


def headers_of(error: PrimeError) -> dict[str, str]:
    """The headers that go with an error: `Retry-After`, in whole seconds."""
    if isinstance(error, Unreachable) and error.retry_after is not None:
        return {"retry-after": str(max(1, math.ceil(error.retry_after)))}
    return {}


def to_error(status: int, detail: str, code: str | None, hint: str | None) -> PrimeError:
    """The error a client raises: by `code` from our hubs, otherwise by the status."""
    cls = error_classes().get(code or "")
    if cls is None:
        cls = _BY_STATUS.get(status, Unreachable if status >= _SERVER_ERRORS else InternalError)
    return cls(detail, hint=hint)
