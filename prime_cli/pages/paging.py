"""Lists as a page has room for them: some rows, and the addresses of those before and after.

Who fills a list decides how much it has, and a page has at most 150,000 bytes, so a list shows
rows as far as their HTML fits. `parts.html` has the links to the others.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from html import escape
from typing import Any, Generic, NamedTuple, TypeVar

from msgspec import Struct, structs

from prime_cli.pages.links import whole_number
from prime_cli.pages.templates import Html
from prime_cli.wire.queries import PageQuery

T = TypeVar("T")

LARGEST_PAGE = 150_000
"""Bytes of HTML, without images."""
_VALUE_BYTES = 12
"""Of a number, a date or nothing."""


class Cursor(NamedTuple):
    """The place, from 0, that a page begins with; or that it ends before, with `is_end`."""

    number: int = 0
    is_end: bool = False

    def query(self, rows: int) -> PageQuery:
        """What to ask for at most so many rows at this place."""
        if not self.is_end:
            return PageQuery(rows, self.number)
        start = max(self.number - rows, 0)
        return PageQuery(max(self.number - start, 1), start)

    def within(self, total: int) -> "Cursor":
        """The same in a list of so many rows; its last rows for a place after them."""
        if self.number < total:
            return self
        return Cursor(total, is_end=total > 0)


FIRST = Cursor()


def parse_cursor(query: Mapping[str, str], name: str = "") -> Cursor:
    """The place in an address, of the list called `name`; the first where it says none."""
    return find_cursor(query, name) or FIRST


def find_cursor(query: Mapping[str, str], name: str = "") -> Cursor | None:
    """The same; None where it says none."""
    for word in ("from", "before"):
        given = query.get(_parameter(name, word), "")
        if (number := whole_number(given)) is not None:
            return Cursor(max(number - 1, 0), word == "before")
    return None


def _parameter(name: str, word: str) -> str:
    return f"{name}_{word}" if name else word


@dataclass(frozen=True)
class Window(Generic[T]):
    """Some of `total` rows, the first of them after `start`; `path` is the address of the list."""

    shown: Sequence[T]
    start: int = 0
    total: int = 0
    path: str = ""
    name: str = ""

    @property
    def end(self) -> int:
        return self.start + len(self.shown)

    @property
    def left_out(self) -> int:
        return self.total - len(self.shown)

    @property
    def first(self) -> str:
        """The address of the first rows, which a page may not begin with by itself."""
        return self._address("from", 1)

    @property
    def earlier(self) -> str:
        """The address of the rows before these; empty for the first."""
        return self._address("before", self.start + 1) if self.start else ""

    @property
    def later(self) -> str:
        """The address of those after these; empty for the last."""
        return self._address("from", self.end + 1) if self.end < self.total else ""

    def _address(self, word: str, number: int) -> str:
        mark = "&" if "?" in self.path else "?"
        return f"{self.path}{mark}{_parameter(self.name, word)}={number}{self._anchor}"

    @property
    def _anchor(self) -> str:
        return f"#{self.name}" if self.name else ""


@dataclass(frozen=True)
class Room:
    """What a page has for a list: at most `rows`, in at most `bytes` of HTML.

    A row takes `row_bytes` besides its texts, each of which stands in it so many `times`; `texts`
    are those of a row that the page shows, if not all.
    """

    rows: int = 100
    row_bytes: int = 150
    times: int = 1
    bytes: int = 60_000
    texts: Callable[[Any], Any] | None = None

    def window(
        self, rows: Sequence[T], cursor: Cursor = FIRST, path: str = "", name: str = ""
    ) -> Window[T]:
        """The rows at `cursor` of all `rows`; at least one."""
        cursor = cursor.within(len(rows))
        query = cursor.query(self.rows)
        part = rows[query.offset : query.offset + query.limit]
        return self.part(part, query.offset, len(rows), cursor, path, name)

    def part(
        self,
        rows: Sequence[T],
        offset: int,
        total: int,
        cursor: Cursor = FIRST,
        path: str = "",
        name: str = "",
    ) -> Window[T]:
        """The same of `rows` that were asked for at `cursor`, the first of them after `offset`.

        Without any, since others went meanwhile, it has the address of those before.
        """
        offset = min(offset, total)
        fitting = self._count(rows[::-1] if cursor.is_end else rows)
        if cursor.is_end:
            offset += len(rows) - fitting
            return Window(rows[len(rows) - fitting :], offset, total, path, name)
        return Window(rows[:fitting], offset, total, path, name)

    def _count(self, rows: Sequence[T]) -> int:
        left = self.bytes
        for number, row in enumerate(rows):
            texts = row if self.texts is None else self.texts(row)
            left -= self.row_bytes + self.times * weigh(texts)
            if left < 0:
                return max(number, 1)
        return len(rows)


def weigh(value: Any) -> int:
    """The most bytes that the texts of a record take in a page."""
    if isinstance(value, str):
        text = value if isinstance(value, Html) else escape(value)
        return len(text.encode(errors="replace"))
    if isinstance(value, Struct):
        return sum(map(weigh, structs.astuple(value)))
    if is_dataclass(value):
        return sum(weigh(getattr(value, each.name)) for each in fields(value))
    if isinstance(value, Mapping):
        return sum(weigh(key) + weigh(each) for key, each in value.items())
    if isinstance(value, Sequence):
        return sum(map(weigh, value))
    return _VALUE_BYTES
