"""The pages on which a user approves the login of a client, and that of an invitation."""

from html import escape
from typing import NamedTuple

from prime_cli.core.errors import PrimeError
from prime_cli.pages.html import HtmlPage, error_body, link

_TITLE = "Log in a client"
_FIELDS = 'autocomplete="off" autocapitalize="characters" spellcheck="false"'


class LoginRequest(NamedTuple):
    """The login to approve: its code, and the address and ISO 8601 time of the request."""

    code: str
    address: str
    requested_at: str


class SignInState(NamedTuple):
    """The provider's `name`, and where signing in with it begins.

    Then `who` has signed in, known here as `user`, or as nobody: `suggested` is a free name, if new
    users may `sign_up`.
    """

    name: str
    href: str
    who: str = ""
    user: str = ""
    suggested: str = ""
    sign_up: bool = False


def render_code_form(problem: PrimeError | None = None) -> HtmlPage:
    """The page without a code, or with an unknown one."""
    body = (
        f"{_problem(problem)}"
        '<form method="get"><label for="code">The code that the client shows</label>'
        f'<input id="code" name="code" maxlength="20" required {_FIELDS}>'
        "<button>Continue</button></form>\n"
    )
    return HtmlPage(_TITLE, body)


def render_approval_form(
    login: LoginRequest, state: SignInState | None = None, problem: PrimeError | None = None
) -> HtmlPage:
    """The page with a code: where the request came from, what it grants, approve or refuse."""
    code = escape(login.code, quote=True)
    body = (
        f"{_problem(problem)}"
        f'<p>Is this the code that your client shows?</p><p class="code">{code}</p>\n'
        f"<p>It was requested from {escape(login.address)} at {_time(login.requested_at)}. "
        "If that was not you, refuse.</p>\n"
        f"{_grant(state)}{_sign_in_link(state)}"
        f'<form method="post"><input type="hidden" name="code" value="{code}">'
        f"{_approver(state)}{_REFUSE}</form>\n"
    )
    return HtmlPage(_TITLE, body)


_REFUSE = '<button name="answer" value="refuse" formnovalidate>Refuse</button>'


def _grant(state: SignInState | None) -> str:
    if state is not None and state.who:
        return (
            "<p>The client gets a key of its own, named after that address. It can read, publish "
            "and delete what you can, but not manage keys.</p>\n"
        )
    return (
        "<p>The client gets a key of its own, named after that address. It can read, publish and "
        "delete what your key can, but not manage keys. It stops working when your key expires or "
        "is revoked.</p>\n"
    )


def _sign_in_link(state: SignInState | None) -> str:
    if state is None or state.who:
        return ""
    return f"<p>{link(state.href, f'Sign in with {state.name}')}, or use an API key:</p>\n"


def _approver(state: SignInState | None) -> str:
    """The fields by which somebody approves: nothing more for a known user who has signed in."""
    if state is None or not state.who:
        return f"{_key_field('Your API key for this hub')}{_button('approve', 'Approve')}"
    signed_in = f"<p>You are signed in with {escape(state.name)} as {escape(state.who)}"
    if state.user:
        return f"{signed_in}: <b>{escape(state.user)}</b> here.</p>{_button('approve', 'Approve')}"
    connect = (
        f"{_key_field('The API key, with the scope admin, of the user that you have here')}"
        f"{_button('connect', 'Connect and approve')}"
    )
    if not state.sign_up:
        return f"{signed_in}, whom this hub does not know yet.</p>{connect}"
    suggested = escape(state.suggested, quote=True)
    return (
        f"{signed_in}, for the first time.</p>"
        '<label for="user">Your new user name on this hub</label>'
        f'<input id="user" name="user" value="{suggested}" maxlength="30" autocomplete="off" '
        'autocapitalize="none" spellcheck="false">'
        f"{_button('create', 'Create and approve')}{connect}"
    )


def _key_field(label: str) -> str:
    return (
        f'<label for="key">{label}</label>'
        '<input id="key" name="key" type="password" autocomplete="off">'
    )


def _button(answer: str, label: str) -> str:
    return f'<button name="answer" value="{answer}">{label}</button>'


def render_approved(user: str) -> HtmlPage:
    """The page after approval."""
    return HtmlPage("Approved", f"<p>The client is logged in as <b>{escape(user)}</b>.</p>\n")


def render_refused() -> HtmlPage:
    """The page after refusal."""
    return HtmlPage(
        "Refused", "<p>The client is not logged in, and its code no longer works.</p>\n"
    )


def render_invited(problem: PrimeError | None = None) -> HtmlPage:
    """The page of an invitation, whose token nobody sends here: it is part of the address."""
    body = (
        f"{_problem(problem)}"
        "<p>The address of this page is an invitation. Install <code>prime</code>, then run this "
        "with the whole address from the bar of your browser, up to its last letter:</p>\n"
        "<pre>prime join 'ADDRESS'</pre>\n"
        "<p>If you have no account on this hub, that creates one and logs you in. Keep the address "
        "to yourself: until it is used, anybody who has it can join in your place.</p>\n"
        "<p>For another client, sign up here:</p>\n"
        '<form method="post"><label for="invitation">The address</label>'
        '<input id="invitation" name="invitation" type="password" required autocomplete="off">'
        '<label for="user">Your new user name, unless the invitation has one</label>'
        '<input id="user" name="user" maxlength="30" autocomplete="username" spellcheck="false">'
        "<button>Sign up</button></form>\n"
    )
    return HtmlPage("You are invited", body)


def render_joined(user: str, team: str | None, key: str | None) -> HtmlPage:
    """The page after an invitation was accepted, the only one with the new user's key."""
    inside = f" and in the team <b>{escape(team)}</b>" if team else ""
    body = f"<p>You are <b>{escape(user)}</b> on this hub{inside}.</p>\n"
    if key is not None:
        body += (
            f"<p>This is your key. It is shown only once:</p>\n<pre>{escape(key)}</pre>\n"
            "<p>Store it in a safe place. Clients take it from the variable "
            "<code>PRIME_API_KEY</code>, or ask on a page of this hub to be approved with it.</p>\n"
        )
    return HtmlPage("Welcome", body)


def _problem(problem: PrimeError | None) -> str:
    return error_body(problem.message, problem.hint) if problem else ""


def _time(moment: str) -> str:
    return escape(f"{moment[:16].replace('T', ' ')} UTC")
