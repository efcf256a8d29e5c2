"""Responses of routes: wire structs as JSON, errors as problems, pages as HTML."""

from collections.abc import Awaitable
from http import HTTPStatus
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from prime_cli.core.errors import InternalError, NotFound, PrimeError
from prime_cli.hub.dispatch import caller_of
from prime_cli.pages.html import CONTENT_SECURITY_POLICY, HtmlPage, error_body
from prime_cli.wire.codec import Envelope, encode
from prime_cli.wire.problems import Problem, status_of, to_problem

# --- Responses ---


def answer(value: Any, status: int = 200) -> Response:
    """A wire struct as the JSON body."""
    return Response(encode(value), status, media_type="application/json")


def enveloped(value: Any, status: int = 200) -> Response:
    """A wire struct as `{"data": …}`."""
    return answer(Envelope(value), status)


async def answer_prime_error(_request: Request, error: Exception) -> Response:
    """A failure of a service: its sentence, code and hint under the status of its class."""
    if not isinstance(error, PrimeError):
        raise error
    return answer(to_problem(error), status_of(error))


async def answer_unexpected(_request: Request, _error: Exception) -> Response:
    """A bug of ours; the server goes on to raise it, so that it is logged."""
    problem = Problem(detail="The hub failed to answer; its log says why", code=InternalError.code)
    return answer(problem, 500)


async def answer_http_error(_request: Request, error: Exception) -> Response:
    """What the router itself refuses: no such address, or not with this method."""
    if not isinstance(error, HTTPException):
        raise error
    refusal = answer(Problem(detail=error.detail), error.status_code)
    refusal.headers.update(error.headers or {})
    return refusal


# --- Pages ---

_NAVIGATION = (
    ("/", "Environments"),
    ("/dashboard/tokens/challenge", "Log in a client"),
    ("/docs", "API"),
)
_PAGE_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    # With `no-referrer` browsers would send forms with the origin `null`.
    "referrer-policy": "same-origin",
}


def answer_page(page: HtmlPage, status: int = 200) -> Response:
    """A page in the hub's frame, which may load and run nothing."""
    html = page.render(_NAVIGATION)
    return Response(html, status, headers=_PAGE_HEADERS, media_type="text/html")


def answer_page_error(error: PrimeError) -> Response:
    """The page of a failure, under its status."""
    body = error_body(error.message) + (
        "<p>Pages show what is public. To see what is yours, use <code>prime env info</code> or "
        "the API with a key.</p>\n"
    )
    status = status_of(error)
    title = "Not found" if status == HTTPStatus.NOT_FOUND else "Cannot be shown"
    return answer_page(HtmlPage(title, body), status)


# --- Challenges for credentials ---

T = TypeVar("T")


async def with_challenge(request: Request, found: Awaitable[T]) -> T:
    """What is found; for credentials that are no key, not finding it is 401 and not 404.

    Who sends none is never asked for any: installers look everywhere for every requirement, and
    give up at a 401. Who sends some that are good for nothing is told, whether or not there is
    anything to see; pip then asks the keyring.
    """
    try:
        return await found
    except NotFound as error:
        if "authorization" not in request.headers or caller_of(request).slug:
            raise
        raise HTTPException(
            401,
            f"{error.message}; the credentials sent are not a valid API key",
            headers={"WWW-Authenticate": 'Basic realm="prime hub", charset="UTF-8"'},
        ) from error
