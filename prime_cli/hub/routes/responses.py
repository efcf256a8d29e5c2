"""Responses of routes: wire structs as JSON, errors as problems, pages as HTML."""

import logging
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, ParamSpec, TypeVar
from urllib.parse import quote, urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route

from prime_cli.core.config.contexts import default_context_name
from prime_cli.core.errors import (
    InternalError,
    NotFound,
    NotLoggedIn,
    PrimeError,
    StorageFailed,
    Unreachable,
    UsageError,
)
from prime_cli.hub.browser_cookies import act_for_session
from prime_cli.hub.dispatch import caller_of, hub_of, run
from prime_cli.hub.headers import BASIC_CHALLENGE
from prime_cli.hub.urls import ACCOUNT_PAGE, API_PAGE, LOGIN_PAGE, SESSION_PAGE, is_page
from prime_cli.pages.assets import PAGE_HEADERS
from prime_cli.pages.templates import (
    ALL_ENVIRONMENTS,
    Frame,
    HubOrigin,
    NavigationLink,
    Page,
    error_page,
    render,
)
from prime_cli.wire.codec import Envelope, encode
from prime_cli.wire.problems import Problem, headers_of, status_of, to_problem

P = ParamSpec("P")
_log = logging.getLogger(__name__)

# --- Responses ---


def answer(value: Any, status: int = 200) -> Response:
    """A wire struct as the JSON body."""
    return Response(encode(value), status, media_type="application/json")


def enveloped(value: Any, status: int = 200) -> Response:
    """A wire struct as `{"data": …}`."""
    return answer(Envelope(value), status)


async def answer_prime_error(request: Request, error: Exception) -> Response:
    """A failure of a service: its sentence, code and hint under the status of its class."""
    if not isinstance(error, PrimeError):
        raise error
    shown = withhold_inside(request, error)
    refusal = answer(to_problem(shown), status_of(shown))
    refusal.headers.update(headers_of(shown))
    return refusal


def withhold_inside(request: Request, error: PrimeError) -> PrimeError:
    """`error`, or for all but admins a sentence that names no address or folder of this hub.

    The whole sentence is logged.
    """
    is_shown = not (error.names_places and hub_of(request).settings.accounts)
    if is_shown or caller_of(request).admin:
        return error
    _log.error("%s %s: %s", request.method, request.url.path, error.message)
    if isinstance(error, Unreachable):
        return Unreachable("A service that this hub needs does not answer", hint=_ASK)
    return StorageFailed("The hub cannot store or read this now", hint=_ASK)


_ASK = "try again in a minute; if it fails again, ask the hub's admin, whose log says why"


async def answer_unexpected(_request: Request, _error: Exception) -> Response:
    """A bug of ours; the server still raises it, so that it is logged."""
    problem = Problem(detail="The hub failed to answer; its log says why", code=InternalError.code)
    return answer(problem, 500)


async def answer_http_error(request: Request, error: Exception) -> Response:
    """What the router itself refuses: no such address, or not with this method."""
    if not isinstance(error, HTTPException):
        raise error
    if error.status_code == HTTPStatus.NOT_FOUND and _is_browser(request):
        await act_for_session(request)
        return answer_page_error(request, NotFound(f"{request.url.path[:200]} was not found"))
    refusal = answer(Problem(detail=error.detail), error.status_code)
    refusal.headers.update(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED and not request.scope.get("root_path"):
        # Of several routes of a page, Starlette names the methods of the first.
        pages = (each for each in request.app.routes if isinstance(each, Route))
        fitting = [each for each in pages if each.matches(request.scope)[0] is Match.PARTIAL]
        methods = {method for each in fitting for method in each.methods or ()}
        refusal.headers["allow"] = ", ".join(sorted(methods))
    return refusal


# --- Pages ---

NAVIGATION = (
    NavigationLink("/", "Environments"),
    NavigationLink(LOGIN_PAGE, "Log in a client"),
    NavigationLink(API_PAGE, "API"),
)


def answer_page(request: Request, page: Page, error: PrimeError | None = None) -> Response:
    """A page in the hub's frame, that loads nothing from elsewhere; with the status of `error`."""
    searched = "" if is_too_long(request) else request.query_params.get("search", "")
    # `prime open` serves these pages among its own.
    navigation = getattr(request.app.state, "navigation", NAVIGATION)
    frame = Frame(
        navigation,
        request.url.path,
        searched=searched,
        account=_account(request),
        hub=_address(request),
    )
    status, headers = (status_of(error), headers_of(error)) if error else (HTTPStatus.OK, {})
    html = render(page, frame)
    return Response(html, status, headers=PAGE_HEADERS | headers, media_type="text/html")


_LONGEST_ADDRESS = 6_000
"""Bytes of path and query, of which a page repeats some several times."""


def is_too_long(request: Request) -> bool:
    """Whether no page has an address as long as that of the request."""
    path: str = request.scope["path"]
    query: bytes = request.scope["query_string"]
    return len(path.encode(errors="replace")) + len(query) > _LONGEST_ADDRESS


def refuse_address(request: Request) -> Response:
    """The page that says so."""
    return answer_page_error(request, UsageError("The address is too long", hint="search for less"))


async def show_page(
    request: Request, lay_out: Callable[P, Page], *args: P.args, **kwargs: P.kwargs
) -> Response:
    """The page that `lay_out` makes, in a thread: what strangers wrote may take a while."""

    def make() -> Response:
        return answer_page(request, lay_out(*args, **kwargs))

    return await run(hub_of(request), make)


def answer_page_error(request: Request, error: PrimeError) -> Response:
    """The page of a failure, under its status."""
    error = withhold_inside(request, error)
    following, onward = _next(request, status_of(error))
    return answer_page(request, error_page(error, following, onward), error)


def _account(request: Request) -> NavigationLink | None:
    """The signed-in user; else where to sign in, on a hub with accounts.

    Elsewhere than at pages nobody knows who is signed in, so the link leads to either.
    """
    session = getattr(request.state, "session", None)
    if session is not None:
        return NavigationLink(ACCOUNT_PAGE, session.caller.slug or "Account")
    if not hub_of(request).settings.accounts:
        return None
    if not is_page(request.url.path):
        return NavigationLink(ACCOUNT_PAGE, "Account")
    return NavigationLink(sign_in_path(request), "Sign in")


def sign_in_path(request: Request) -> str:
    """Where a browser signs in, and from there comes back to the page that it asked for."""
    path, query = quote(request.url.path, safe="/@"), request.url.query
    # What only a form leads to is no page to come back to.
    is_form = request.method not in ("GET", "HEAD")
    if is_form or path.startswith(SESSION_PAGE) or is_too_long(request):
        return SESSION_PAGE
    address = f"{path}?{query}" if query else path
    return f"{SESSION_PAGE}?{urlencode({'next': address})}"


def _address(request: Request) -> HubOrigin | None:
    """Where other machines reach it; nobody logs in to a hub without accounts."""
    settings = hub_of(request).settings
    url = settings.public_url
    return HubOrigin(url, default_context_name(url)) if settings.accounts else None


def _next(request: Request, status: int) -> tuple[tuple[str, ...], NavigationLink]:
    """What somebody can do who sees no page here, and where."""
    if status not in (HTTPStatus.NOT_FOUND, HTTPStatus.FORBIDDEN):
        return (), ALL_ENVIRONMENTS
    session = getattr(request.state, "session", None)
    if session is not None:
        who = session.caller.slug or "an admin"
        share = "ask its owner to make it public, or to add you to the team that owns it"
        return (f"You are signed in as `{who}`. If it is private, {share}.",), ALL_ENVIRONMENTS
    if hub_of(request).settings.accounts and is_page(request.url.path):
        onward = NavigationLink(sign_in_path(request), "Sign in, and come back here")
        return ("Without signing in, pages show what is public.",), onward
    return (), ALL_ENVIRONMENTS


def _is_browser(request: Request) -> bool:
    """Whether a person opened the address, and not a client of the API or an installer."""
    accept = request.headers.get("accept", "")
    return request.method == "GET" and accept.startswith("text/html")


# --- Challenges for credentials ---

T = TypeVar("T")


async def with_challenge(found: Awaitable[T]) -> T:
    """What is found; the refusal of a key asks for another as Basic authentication does.

    Who sends none is never asked for any: installers look everywhere for every requirement, and
    give up at a 401. Who sends some that are good for nothing is told, whether or not there is
    anything to see; pip then asks the keyring.
    """
    try:
        return await found
    except NotLoggedIn as error:
        headers = {"WWW-Authenticate": BASIC_CHALLENGE}
        raise HTTPException(401, error.message, headers=headers) from error
