"""The pages on which a user approves the login of a client, and that of an invitation."""

from html import escape
from typing import NamedTuple

from prime_cli.core.errors import PrimeError
from prime_cli.pages.html import HtmlPage, error_body

_TITLE = "Log in a client"
_FIELDS = 'autocomplete="off" autocapitalize="characters" spellcheck="false"'


class LoginRequest(NamedTuple):
    """The login to approve: its code, and the address and ISO 8601 time of the request."""

    code: str
    address: str
    requested_at: str


def render_code_form(problem: PrimeError | None = None) -> HtmlPage:
    """The page without a code, or with an unknown one."""
    body = (
        f"{_problem(problem)}"
        '<form method="get"><label for="code">The code that the client shows</label>'
        f'<input id="code" name="code" maxlength="20" required {_FIELDS}>'
        "<button>Continue</button></form>\n"
    )
    return HtmlPage(_TITLE, body)


def render_approval_form(login: LoginRequest, problem: PrimeError | None = None) -> HtmlPage:
    """The page with a code: where the request came from, what it grants, approve or refuse."""
    code = escape(login.code, quote=True)
    body = (
        f"{_problem(problem)}"
        f'<p>Is this the code that your client shows?</p><p class="code">{code}</p>\n'
        f"<p>It was requested from {escape(login.address)} at {_time(login.requested_at)}. "
        "If that was not you, refuse.</p>\n"
        "<p>The client gets a key of its own, named after that address. It can read, publish and "
        "delete what your key can, but not manage keys. It stops working when your key expires or "
        "is revoked.</p>\n"
        '<form method="post">'
        f'<input type="hidden" name="code" value="{code}">'
        '<label for="key">Your API key for this hub</label>'
        '<input id="key" name="key" type="password" autocomplete="off">'
        '<button name="answer" value="approve">Approve</button>'
        '<button name="answer" value="refuse">Refuse</button></form>\n'
    )
    return HtmlPage(_TITLE, body)


def render_approved(user: str) -> HtmlPage:
    """The page after approval."""
    return HtmlPage("Approved", f"<p>The client is logged in as <b>{escape(user)}</b>.</p>\n")


def render_refused() -> HtmlPage:
    """The page after refusal."""
    return HtmlPage(
        "Refused", "<p>The client is not logged in, and its code no longer works.</p>\n"
    )


def render_invited() -> HtmlPage:
    """The page of an invitation, whose token nobody sends here: it is part of the address."""
    body = (
        "<p>This address is an invitation. Install <code>prime</code>, then run this with the "
        "whole address from the bar of your browser, up to its last letter:</p>\n"
        "<pre>prime join ADDRESS</pre>\n"
        "<p>If you have no account on this hub, that creates one and logs you in. Keep the address "
        "to yourself: until it is used, anybody who has it can join in your place.</p>\n"
    )
    return HtmlPage("You are invited", body)


def _problem(problem: PrimeError | None) -> str:
    return error_body(problem.message, problem.hint) if problem else ""


def _time(moment: str) -> str:
    return escape(f"{moment[:16].replace('T', ' ')} UTC")
