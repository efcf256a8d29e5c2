"""The page on which a user approves a login."""

from html import escape

from starlette.responses import Response

from prime_cli.core.errors import PrimeError
from prime_cli.hub.pages.html import page
from prime_cli.hub.services.logins import PendingLogin
from prime_cli.wire.problems import status_of

_TITLE = "Log in a client"
_FIELDS = 'autocomplete="off" autocapitalize="characters" spellcheck="false"'


def show_code_form(problem: PrimeError | None = None) -> Response:
    """The page without a code, or with one that is not known."""
    body = (
        f"{_problem(problem)}"
        '<form method="get"><label for="code">The code that the client shows</label>'
        f'<input id="code" name="code" maxlength="20" required {_FIELDS}>'
        "<button>Go on</button></form>\n"
    )
    return page(_TITLE, body, status_of(problem) if problem else 200)


def show_approval_form(login: PendingLogin, problem: PrimeError | None = None) -> Response:
    """The page with a code: whence it was asked for, what is granted, and the two ways on."""
    code = escape(login.code, quote=True)
    body = (
        f"{_problem(problem)}"
        f'<p>Is this the code that your client shows?</p><p class="code">{code}</p>\n'
        f"<p>It was asked for from {escape(login.address)} at {_time(login.asked_at)}. "
        "If that was not you, refuse.</p>\n"
        "<p>The client gets a key of its own, named after that address. It may read, publish and "
        "delete what your key may, ends when your key does or is revoked, and cannot manage "
        "keys.</p>\n"
        '<form method="post">'
        f'<input type="hidden" name="code" value="{code}">'
        '<label for="key">A key of yours on this hub</label>'
        '<input id="key" name="key" type="password" autocomplete="off">'
        '<button name="answer" value="approve">Approve</button>'
        '<button name="answer" value="refuse">Refuse</button></form>\n'
    )
    return page(_TITLE, body, status_of(problem) if problem else 200)


def show_approved(user: str) -> Response:
    """The end of it, when approved."""
    return page("Approved", f"<p>The client is logged in as <b>{escape(user)}</b>.</p>\n")


def show_refused() -> Response:
    """The end of it, when not."""
    return page("Refused", "<p>The client is not logged in, and its code is worth nothing.</p>\n")


def _problem(problem: PrimeError | None) -> str:
    if problem is None:
        return ""
    hint = f" ({escape(problem.hint)})" if problem.hint else ""
    return f'<p class="problem" role="alert">{escape(problem.message)}{hint}.</p>\n'


def _time(moment: str) -> str:
    return escape(f"{moment[:16].replace('T', ' ')} UTC")
