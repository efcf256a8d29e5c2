"""Signing a browser in and out: by a key or by a login that is approved elsewhere."""

from typing import NamedTuple
from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.responses import Response

from prime_cli.core.errors import NotFound, NotLoggedIn, PrimeError, RateLimited, UsageError
from prime_cli.hub.browser_cookies import (
    act_for_form,
    cookie_name,
    drop_cookie,
    path_within,
    redirect,
    require_visitor_form,
    session_of,
    set_cookie,
    visitor_form_token,
    visitor_of,
)
from prime_cli.hub.dispatch import caller_of, hub_of, run_write
from prime_cli.hub.routes.requests import read_form
from prime_cli.hub.routes.responses import answer_page, answer_page_error, withhold_inside
from prime_cli.hub.routes.router import Router
from prime_cli.hub.services import browser_sessions as service
from prime_cli.hub.services.logins import begin_browser_login
from prime_cli.hub.urls import (
    ACCOUNT_PAGE,
    LOGIN_PAGE,
    SESSION_PAGE,
    SIGN_IN_PAGE,
    SIGN_OUT,
)
from prime_cli.pages.login import sign_in_page, waiting_page

router = Router()

_WAIT_PAGE = f"{SESSION_PAGE}/code"
_WAIT_SECONDS = 3
_FIELDS = frozenset({"by", "key", "next"})
_LONGEST_ONWARD = 2_000
"""Characters in a cookie, of which browsers drop one with more than 4,096."""


class _Login(NamedTuple):
    """The login that a browser has begun for itself, and where it goes on to."""

    code: str
    secret: str
    onward: str

    @property
    def cookie(self) -> str:
        onward = quote(self.onward, safe="")
        return f"{self.code}.{self.secret}.{onward if len(onward) <= _LONGEST_ONWARD else ''}"


def _login_of(request: Request) -> _Login:
    """What its cookie says, which others may have planted; without one, no code."""
    cookie = request.cookies.get(cookie_name(hub_of(request), "login"), "")
    code, secret, onward, *_ = [*cookie.split(".", 2), "", "", ""]
    return _Login(code, secret, path_within(unquote(onward)))


@router.page(SESSION_PAGE)
async def show(request: Request) -> Response:
    """The form to sign in; who is signed in goes on."""
    onward = path_within(request.query_params.get("next", ""))
    if await session_of(request) is not None:
        return redirect(onward)
    return _ask(request, onward)


@router.page(SESSION_PAGE, "POST")
async def sign_in(request: Request) -> Response:
    """Sign in with a key, or begin a login that is approved elsewhere."""
    onward = ACCOUNT_PAGE
    try:
        form = await read_form(request)
        onward = path_within(form.get("next", ""))
        require_visitor_form(request, form)
        if unknown := sorted(form.keys() - _FIELDS):
            raise UsageError(f"`{unknown[0][:80]}` is not a field of this form")
        hub, address = hub_of(request), caller_of(request).address
        if form.get("by") in ("code", "provider"):
            ticket = await run_write(hub, begin_browser_login, hub, address)
            to_provider = f"{SIGN_IN_PAGE}?code={ticket.challenge}"
            begun = redirect(to_provider if form["by"] == "provider" else _WAIT_PAGE)
            login = _Login(ticket.challenge, ticket.status_auth_token, onward)
            set_cookie(hub, begun, "login", login.cookie)
            return begun
        key = form.get("key", "")
        token = await run_write(hub, service.begin_with_key, hub, address, key)
    except PrimeError as error:
        return _ask(request, onward, withhold_inside(request, error))
    return await _begun(request, token, onward)


@router.page(_WAIT_PAGE)
async def wait(request: Request) -> Response:
    """The code of this browser's login, until somebody has approved it."""
    hub, address = hub_of(request), caller_of(request).address
    code, secret, onward = _login_of(request)
    if not code:
        return redirect(SESSION_PAGE)
    try:
        token = await run_write(hub, service.begin_with_login, hub, address, code, secret)
    except NotFound:
        ended = NotFound("The code was refused or has expired", hint="sign in again")
        return _forget_login(request, _ask(request, onward, ended))
    except RateLimited as error:
        # Others at this address guess; the login may still be approved.
        return answer_page_error(request, error)
    except PrimeError as error:
        return _forget_login(request, answer_page_error(request, error))
    if token is None:
        waiting = answer_page(
            request, waiting_page(code, f"{hub.settings.public_url}{LOGIN_PAGE}?code={code}")
        )
        waiting.headers["refresh"] = str(_WAIT_SECONDS)
        return waiting
    return _forget_login(request, await _begun(request, token, onward))


@router.page(SIGN_OUT, "POST")
async def sign_out(request: Request) -> Response:
    """End the session."""
    hub = hub_of(request)
    try:
        form = await read_form(request)
        session = await act_for_form(request, form)
        await run_write(hub, service.end_session, hub, session)
    except PrimeError as error:
        return answer_page_error(request, error)
    ended = redirect("/")
    drop_cookie(hub, ended, "session")
    return ended


def code_of_browser(request: Request) -> str:
    """The code of the login that this browser has begun for itself; `` if none."""
    return _login_of(request).code


def finish_login() -> Response:
    """Send a browser that has just approved its own login on to its session."""
    return redirect(_WAIT_PAGE)


async def _begun(request: Request, token: str, onward: str) -> Response:
    """Go on signed in; the session that the browser had before has ended."""
    hub = hub_of(request)
    before = await session_of(request)
    if before is not None:
        await run_write(hub, service.end_session, hub, before)
    response = redirect(onward)
    set_cookie(hub, response, "session", token)
    drop_cookie(hub, response, "visitor")
    return response


def _forget_login(request: Request, response: Response) -> Response:
    drop_cookie(hub_of(request), response, "login")
    return response


def _ask(request: Request, onward: str, problem: PrimeError | None = None) -> Response:
    hub, visitor = hub_of(request), visitor_of(request)
    if not hub.settings.accounts:
        alone = NotLoggedIn("This hub has one user, who needs no sign-in")
        return answer_page_error(request, alone)
    provider = hub.settings.sign_in.name if hub.settings.sign_in else None
    page = sign_in_page(visitor_form_token(visitor), onward, provider, problem)
    response = answer_page(request, page, problem)
    set_cookie(hub, response, "visitor", visitor)
    return response
