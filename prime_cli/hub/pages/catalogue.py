"""The first page: what is published, and a search for it."""

from html import escape
from urllib.parse import urlencode

from starlette.responses import Response

from prime_cli.hub.pages.elements import Cell, day, environment_link, number, table, text
from prime_cli.hub.pages.frame import page
from prime_cli.wire.environments import EnvironmentPage


def show_catalogue(found: EnvironmentPage, search: str) -> Response:
    """A page of environments, newest first."""
    form = (
        '<form method="get"><label for="search">Search name, owner, description and tags</label>'
        f'<input id="search" name="search" value="{escape(search, quote=True)}" maxlength="200">'
        "<button>Search</button></form>\n"
    )
    rows = [
        (
            Cell(environment_link(f"{item.owner.name}/{item.name}")),
            text(item.latest_version),
            text(item.description),
            text(", ".join(item.tags)),
            number(item.stars),
            day(item.updated_at),
        )
        for item in found.data
    ]
    heads = ("Environment", "Version", "Description", "Tags", "Stars", "Updated")
    empty = "Nothing that everybody may see was found."
    body = form + table(heads, rows, empty) + _next(found, search)
    return page("Environments", body, wide=True)


def _next(found: EnvironmentPage, search: str) -> str:
    if not found.next_cursor:
        return ""
    query = urlencode({"search": search, "cursor": found.next_cursor})
    return f'<p><a href="/?{escape(query, quote=True)}">Next page</a></p>\n'
