"""A page that cannot be shown, and why."""

from html import escape
from http import HTTPStatus

from starlette.responses import Response

from prime_cli.core.errors import PrimeError
from prime_cli.hub.pages.frame import page
from prime_cli.wire.problems import status_of


def show_problem(error: PrimeError) -> Response:
    """The sentence of a failure, under its status."""
    body = (
        f'<p class="problem" role="alert">{escape(error.message)}.</p>\n'
        "<p>Pages show what everybody may see; with a key, <code>prime env info</code> and the API "
        "show what is yours.</p>\n"
    )
    status = status_of(error)
    return page("Not found" if status == HTTPStatus.NOT_FOUND else "Cannot be shown", body, status)
