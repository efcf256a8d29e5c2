"""The list of environments, with its search."""

from msgspec import Struct

from prime_cli.pages import links
from prime_cli.pages.templates import Page
from prime_cli.wire.environments import EnvironmentPage


class CatalogueRecord(Struct, frozen=True):
    """A page of the list, and the address of the next one, if any."""

    found: EnvironmentPage
    search: str
    next: str | None


def catalogue_page(found: EnvironmentPage, search: str) -> Page:
    """A page of the list, newest first; `search` is the text that was searched for."""
    cursor = found.next_cursor
    following = links.catalogue_path(search=search, cursor=cursor) if cursor else None
    return Page("catalogue.html", "Environments", CatalogueRecord(found, search, following))
