"""Pages of an order, read from indexes or cut out of search results, and their cursors."""

import base64
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import msgspec
from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Connection,
    Row,
    Select,
    and_,
    or_,
    select,
    tuple_,
    union_all,
)

from prime_cli.core.errors import UsageError
from prime_cli.hub.db.tables import environments
from prime_cli.hub.search_index import VisibilitySet
from prime_cli.wire.environments import SortKey

# --- Cursors ---

_LONGEST = 1000


class Position(msgspec.Struct, frozen=True, array_like=True):
    """After the environment `id`, whose column of the order holds `key`.

    `order` and `descending` are those of the list that it is a position in.
    """

    order: str
    descending: bool
    key: str | int
    id: str


def write_cursor(position: Position) -> str:
    """The cursor of a position: letters, digits, `-` and `_`."""
    return base64.urlsafe_b64encode(msgspec.json.encode(position)).rstrip(b"=").decode()


def read_cursor(cursor: str, order: str, *, descending: bool) -> Position:
    """The position in a list of that order; raises UsageError.

    A cursor needs no signature: it says where to go on in an order, never what may be seen.
    """
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        position = msgspec.json.decode(
            base64.b64decode(padded, altchars=b"-_", validate=True), type=Position
        )
    except (ValueError, msgspec.DecodeError) as error:
        raise _refusal("Invalid cursor") from error
    if (position.order, position.descending) != (order, descending):
        raise _refusal("The cursor belongs to a list in another order")
    if isinstance(position.key, int) != (order == "stars") or len(position.id) > _LONGEST:
        raise _refusal("Invalid cursor")
    return position


def _refusal(sentence: str) -> UsageError:
    return UsageError(
        sentence, hint="send `next_cursor` of the previous page, or omit `cursor` to start over"
    )


# --- Pages ---

ORDERS: dict[SortKey, ColumnElement[Any]] = {
    SortKey.NAME: environments.c.normalized_name,
    SortKey.CREATED_AT: environments.c.created_at,
    SortKey.UPDATED_AT: environments.c.updated_at,
    SortKey.STARS: environments.c.stars,
}

_MOST_WALKS = 16

_place = itemgetter(1, 0)
"""The place of a row of `keys` in the order: by attributes it takes longer than the search."""

_Keys = Select[Any] | CompoundSelect[Any]


@dataclass(frozen=True)
class Slice:
    """A part of an order: `limit` environments, past `offset` others or the one at `after`.

    Environments with the same key follow their ids, up or down as their keys do.
    """

    order: SortKey
    descending: bool
    limit: int
    offset: int = 0
    after: Position | None = None

    def __post_init__(self) -> None:
        if self.offset and self.after:
            raise UsageError("Pass either `offset` or `cursor`, not both")

    def keys(self) -> Select[Any]:
        """Selects `id`, and `key`: what the order follows."""
        return select(environments.c.id, ORDERS[self.order].label("key"))

    def position(self, row: Row[Any]) -> Position:
        """Right behind a row of `keys`."""
        return Position(self.order, self.descending, row.key, row.id)


def walk(
    connection: Connection,
    sets: Iterable[VisibilitySet],
    part: Slice,
    conditions: Sequence[ColumnElement[bool]] = (),
) -> list[Row[Any]]:
    """The `keys` of a slice of the union of the sets, and one more if there is one.

    Only rows for which all conditions hold count.

    Each set has an index in this order, and the database merges them while it reads, so it skips no
    more rows than the offset. If there are very many sets, the largest should come first.
    """
    unions = [each.holds for each in sets]
    if not unions:
        return []
    if len(unions) > _MOST_WALKS:
        unions[_MOST_WALKS:] = [or_(*unions[_MOST_WALKS:])]
    walks = [part.keys().where(each, _beyond(part), *conditions) for each in unions]
    if len(walks) > 1 and connection.dialect.name == "postgresql":
        # It merges what is sorted already, and sorts whole tables otherwise.
        most = part.offset + part.limit + 1
        walks = [select(_in_order(each, part).limit(most).subquery()) for each in walks]
    page = _in_order(union_all(*walks) if len(walks) > 1 else walks[0], part)
    return list(connection.execute(page.limit(part.limit + 1).offset(part.offset)))


def cut(found: Sequence[Row[Any]], part: Slice) -> list[Row[Any]]:
    """The `keys` of a slice out of all there are, and one more if there is one."""
    rows = sorted(found, key=_place)
    if part.after is not None:
        here = part.after.key, part.after.id
        at = (bisect_left if part.descending else bisect_right)(rows, here, key=_place)
        rows = rows[:at] if part.descending else rows[at:]
    if part.descending:
        rows.reverse()
    return rows[part.offset : part.offset + part.limit + 1]


def _in_order(keys: _Keys, part: Slice) -> _Keys:
    identity, key = keys.selected_columns
    places = (key, identity)
    return keys.order_by(*(each.desc() if part.descending else each.asc() for each in places))


def _beyond(part: Slice) -> ColumnElement[bool]:
    if part.after is None:
        return and_(True)  # noqa: FBT003 - SQL for no condition
    place = tuple_(ORDERS[part.order], environments.c.id)
    here = tuple_(part.after.key, part.after.id)
    return place < here if part.descending else place > here
