"""Errors of the Kubernetes API as ours."""

from http import HTTPStatus

from prime_cli.core.errors import (
    Conflict,
    NotAllowed,
    NotFound,
    NotLoggedIn,
    PrimeError,
    RateLimited,
    Unreachable,
    UsageError,
)
from prime_cli.hub.sandboxes.kubernetes.objects import Status

_RIGHTS = "docs/deploy/sandboxes-role.yaml has the rights that are needed"
_TRY_AGAIN = 5.0


def to_error(code: int, status: Status, where: str, retry_after: float | None) -> PrimeError:
    """The error for an answer with the HTTP status `code`, 400 or more, of the cluster `where`.

    RateLimited and Unreachable for what may pass, UsageError for what the cluster will not take.
    """
    words = status.message[:2000] or f"HTTP {code}"
    cluster = where[:1].upper() + where[1:]
    if code == HTTPStatus.FORBIDDEN and "exceeded quota" in words:
        return RateLimited(f"{cluster} is full: {words}", retry_after=_TRY_AGAIN)
    if code == HTTPStatus.NOT_FOUND and words.startswith("namespaces "):
        return UsageError(
            f"{cluster} has no such namespace: {words}",
            hint="create it with `kubectl create namespace`, or set PRIME_KUBERNETES_NAMESPACE",
        )
    if code == HTTPStatus.TOO_MANY_REQUESTS:
        wait = _TRY_AGAIN if retry_after is None else retry_after
        return RateLimited(f"{cluster} is busy: {words}", retry_after=wait)
    if code == HTTPStatus.UNAUTHORIZED:
        return NotLoggedIn(
            f"{cluster} does not accept your credentials",
            hint="log in to it again; `kubectl auth whoami` tries them",
        )
    if code in _KINDS:
        return _KINDS[code](f"{cluster} refused: {words}", hint=_HINTS.get(code))
    is_theirs = code >= HTTPStatus.INTERNAL_SERVER_ERROR
    return (Unreachable if is_theirs else UsageError)(f"{cluster} refused: {words}")


_KINDS: dict[int, type[PrimeError]] = {
    HTTPStatus.FORBIDDEN: NotAllowed,
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.GONE: NotFound,
    HTTPStatus.CONFLICT: Conflict,
}
_HINTS: dict[int, str] = {HTTPStatus.FORBIDDEN: _RIGHTS}
