"""The cookies of signed-in browsers, and the forms of their pages.

Cookies count at pages only: the API is asked with keys, which no browser sends by itself.
"""

from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from prime_cli.core.errors import NotLoggedIn
from prime_cli.hub.context import Hub
from prime_cli.hub.dispatch import hub_of, run
from prime_cli.hub.services.browser_sessions import (
    BrowserSession,
    find_session,
    form_token_of,
    require_form_token,
)
from prime_cli.hub.services.logins import SESSION_SECONDS
from prime_cli.hub.tokens import new_token
from prime_cli.hub.urls import ACCOUNT_PAGE, SESSION_PAGE, SIGN_OUT, is_page

FORM_FIELD = "form_token"
_READING = ("GET", "HEAD")
_LONGEST = 200


async def session_of(request: Request) -> BrowserSession | None:
    """The session of the browser, at a page; None if it has none, or sends a key."""
    if not is_page(request.url.path) or "authorization" in request.headers:
        return None
    if not hasattr(request.state, "session"):
        hub = hub_of(request)
        token = request.cookies.get(cookie_name(hub, "session"), "")[:_LONGEST]
        address = request.client.host if request.client else ""
        found = await run(hub, find_session, hub, token, address) if token else None
        request.state.session = found
    session: BrowserSession | None = request.state.session
    return session


async def act_for_session(request: Request) -> None:
    """Let a page that only reads show what the signed-in user may see."""
    if request.method in _READING and (session := await session_of(request)) is not None:
        request.state.caller = session.caller


async def require_session(request: Request) -> BrowserSession:
    """The session of the browser; raises NotLoggedIn."""
    session = await session_of(request)
    if session is None:
        raise NotLoggedIn("You are not signed in", hint="sign in, then try again")
    return session


async def act_for_form(request: Request, form: dict[str, str]) -> BrowserSession:
    """Let the form of a page act for the signed-in user, whom the form must come from.

    Raises NotLoggedIn without a session, NotAllowed for a form that its pages did not make.
    """
    session = await require_session(request)
    require_form_token(session.token, form.pop(FORM_FIELD, ""))
    request.state.caller = session.caller
    return session


# --- Browsers that are not signed in yet ---


def visitor_of(request: Request) -> str:
    """The secret of a browser without a session, for the form to sign in with; may be new."""
    known = request.cookies.get(cookie_name(hub_of(request), "visitor"), "")
    return known[:_LONGEST] or new_token()


def visitor_form_token(visitor: str) -> str:
    """The hidden field of that form."""
    return form_token_of(visitor)


def require_visitor_form(request: Request, form: dict[str, str]) -> None:
    """Raise NotAllowed for a form to sign in that this browser was not shown."""
    known = request.cookies.get(cookie_name(hub_of(request), "visitor"), "")
    require_form_token(known[:_LONGEST] or new_token(), form.pop(FORM_FIELD, ""))


# --- Cookies ---


def cookie_name(hub: Hub, what: str) -> str:
    """With TLS, a name that browsers take from this host alone; else one for this port.

    Ports share their cookies (RFC 6265, 8.5), and a machine may have several hubs.
    """
    url = urlsplit(hub.settings.public_url)
    if url.scheme == "https":
        return f"__Host-prime_{what}"
    return f"prime_{what}_{url.port or 80}"


def set_cookie(hub: Hub, response: Response, what: str, value: str) -> None:
    """Give the browser a cookie that scripts and other sites do not get."""
    response.set_cookie(
        cookie_name(hub, what),
        value,
        max_age=SESSION_SECONDS,
        path="/",
        secure=hub.settings.public_url.startswith("https:"),
        httponly=True,
        samesite="strict",
    )


def drop_cookie(hub: Hub, response: Response, what: str) -> None:
    """Make the browser forget a cookie."""
    response.delete_cookie(
        cookie_name(hub, what),
        path="/",
        secure=hub.settings.public_url.startswith("https:"),
        httponly=True,
        samesite="strict",
    )


def redirect(path: str) -> Response:
    """Send the browser on to another page of this hub, which it asks for by GET."""
    return RedirectResponse(path, 303, headers={"cache-control": "no-store"})


def path_within(text: str) -> str:
    """`text` if it is the path of a page of this hub, else that of the account."""
    plain = text.isprintable() and text.isascii() and "\\" not in text
    inside = text.startswith("/") and not text.startswith("//") and is_page(text.partition("?")[0])
    is_signing = text.startswith((SESSION_PAGE, SIGN_OUT))
    return text if plain and inside and not is_signing else ACCOUNT_PAGE
