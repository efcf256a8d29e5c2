"""All of what a hub tells in pages."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

_PAGE = 100
_MOST = 10_000

Item = TypeVar("Item")
Item_co = TypeVar("Item_co", covariant=True)


class Page(Protocol[Item_co]):
    """Some of many things."""

    @property
    def data(self) -> Sequence[Item_co]: ...
    @property
    def total_count(self) -> int: ...


class Pages(Protocol[Item_co]):
    """How a hub is asked for them."""

    def __call__(self, *, offset: int, limit: int) -> Page[Item_co]: ...


def all_of(ask: Pages[Item]) -> list[Item]:
    """What is on all pages; a hub whose pages never end is left after ten thousand things."""
    found: list[Item] = []
    while len(found) < _MOST:
        page = ask(offset=len(found), limit=_PAGE)
        found += page.data
        if not page.data or len(found) >= page.total_count:
            break
    return found
