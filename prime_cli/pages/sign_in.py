"""The pages on which a browser signs in."""

from msgspec import Struct

from prime_cli.core.errors import PrimeError
from prime_cli.pages.login import LOGIN
from prime_cli.pages.templates import Page, Problem, problem_of


class SignInRecord(Struct, frozen=True):
    """What the form holds: where to go on, and the name of the hub's provider, if it has one."""

    form_token: str
    onward: str
    provider: str | None
    problem: Problem | None


class WaitingRecord(Struct, frozen=True):
    """The code of a browser's login, and where to approve it."""

    code: str
    href: str


def sign_in_page(
    form_token: str, onward: str, provider: str | None, problem: PrimeError | None = None
) -> Page:
    """The form for a key, and for a login that is approved elsewhere or by the `provider`."""
    record = SignInRecord(form_token, onward, provider, problem_of(problem))
    return Page("sign_in.html", "Sign in", record, command=LOGIN, narrow=True)


def waiting_page(code: str, href: str) -> Page:
    """The code of a login that is to be approved elsewhere."""
    command = (f"prime hub approve {code} --user NAME",)
    record = WaitingRecord(code, href)
    return Page("sign_in_code.html", "Waiting for approval", record, command, narrow=True)
