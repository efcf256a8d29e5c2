"""Lists of environments: search through the full-text index, and pages of an order.

A search is clauses, which must all hold; each is tokens of which any will do. Tokens are letters,
digits, `=` and `_`, whatever the user wrote, so that they can stand in a query as they are; one
that ends with `*` stands for all that begin so, which only PostgreSQL takes.
"""

import base64
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Connection,
    Row,
    Select,
    String,
    and_,
    bindparam,
    column,
    exists,
    func,
    literal_column,
    or_,
    select,
    table,
    text,
    tuple_,
    union_all,
)

from prime_cli.core.errors import UsageError
from prime_cli.hub.db.indexes import ORDER_COLUMNS
from prime_cli.hub.db.tables import environments, listed, tallies
from prime_cli.hub.search_index import VisibilitySet
from prime_cli.wire.environments import SortKey

MOST_HITS = 1000
"""A search finds at most this many environments, the most recently listed ones."""

_SHORTEST_BEGINNING = 3
_MOST_COMPLETIONS = 32
_MOST_LOOKED_AT = 5000
_MOST_PASSED_OVER = 3000

Clauses = list[Sequence[str]]

_search = table("search", column("rowid"))


def complete(connection: Connection, word: str) -> list[str]:
    """The tokens that a word of a search stands for: itself, and what begins with it.

    Less than three characters stand for themselves. In SQLite, which is slow with beginnings, too
    many words are those in most environments, out of the first 5,000 in the order of the alphabet.
    """
    if len(word) < _SHORTEST_BEGINNING:
        return [word]
    if connection.dialect.name == "postgresql":
        return [f"{word}*"]
    begun = _begun_with(word).subquery()
    best = select(begun.c.token).order_by(begun.c.count.desc(), begun.c.token)
    return [word, *connection.execute(best.limit(_MOST_COMPLETIONS)).scalars()]


def newest_hits(
    connection: Connection, found: Select[Any], clauses: Clauses, sets: dict[VisibilitySet, int]
) -> Select[Any]:
    """The most recently listed hits among `found`, a selection of environments in the sets.

    They are at most MOST_HITS, not counting environments in other sets. `sets` says how many
    environments each has.
    """
    in_sets = [*clauses, [each.token for each in sets]]
    if connection.dialect.name != "sqlite":
        newest = _choose_plan(connection, in_sets)
        hits = select(listed.c.environment_id).where(_matches_on_postgres(in_sets))
        best = hits.order_by(newest).limit(MOST_HITS).subquery()
        return found.join(best, best.c.environment_id == environments.c.id)
    unseen = _count_listed(connection) - sum(sets.values())
    if min(unseen, *(_tally(connection, clause) for clause in clauses)) < _MOST_PASSED_OVER:
        # Skipping the few in other sets is faster than looking up all of them in the index.
        in_sets = clauses
    # In this order FTS5 stops reading at the limit, however common the words are.
    return (
        found.join(listed, listed.c.environment_id == environments.c.id)
        .join(_search, _search.c.rowid == listed.c.number)
        .where(_matches_on_sqlite(in_sets))
        .order_by(_search.c.rowid.desc())
        .limit(MOST_HITS)
    )


def _count_listed(connection: Connection) -> int:
    """An upper estimate of how many environments are listed: the number of the newest."""
    return connection.execute(select(func.max(listed.c.number))).scalar_one() or 1


def _choose_plan(connection: Connection, clauses: Clauses) -> ColumnElement[int]:
    """Have PostgreSQL look up all hits, or go back from the newest environment: gives the order.

    Its planner knows neither how common a beginning of words is nor what a comparison with many
    words takes, and is wrong by a factor of ten. Measured: to compare a row with a word takes a
    fifth of what it takes to read the next row, and to read a row somewhere four times that.
    """
    # A plan for any words, as it makes when the same query comes again and again, fits none.
    connection.exec_driver_sql("SET LOCAL plan_cache_mode = force_custom_plan")
    all_listed = _count_listed(connection)
    share = 1.0
    for clause in clauses:
        share *= min(1.0, _tally(connection, clause) / all_listed)
    to_walk = min(all_listed, MOST_HITS / share) if share else all_listed
    if to_walk * (1 + sum(map(len, clauses)) / 5) > 4 * share * all_listed:
        # No index has this order, so only the one of the words remains.
        return (listed.c.number + 0).desc()
    connection.exec_driver_sql("SET LOCAL enable_bitmapscan = off")
    return listed.c.number.desc()


def _tally(connection: Connection, clause: Sequence[str]) -> int:
    """How many environments have one of the tokens; those with several count repeatedly."""
    words = [token.removesuffix("*") for token in clause]
    count = sum(
        connection.execute(select(tallies.c.count).where(tallies.c.token.in_(words))).scalars()
    )
    for token in clause:
        if token.endswith("*"):
            begun = _begun_with(token.removesuffix("*")).subquery()
            count += connection.execute(select(func.sum(begun.c.count))).scalar_one() or 0
    return int(count)


def _begun_with(word: str) -> Select[Any]:
    return (
        select(tallies)
        .where(tallies.c.token > word, tallies.c.token < word + "\U0010ffff")
        .where(tallies.c.count > 0)
        .order_by(tallies.c.token)
        .limit(_MOST_LOOKED_AT)
    )


def is_hit(connection: Connection, clauses: Clauses) -> ColumnElement[bool]:
    """The condition for a row of `listed` to be a hit."""
    if connection.dialect.name == "sqlite":
        return exists(
            select(_search.c.rowid).where(
                _search.c.rowid == listed.c.number, _matches_on_sqlite(clauses)
            )
        )
    return _matches_on_postgres(clauses)


def _matches_on_sqlite(clauses: Clauses) -> ColumnElement[bool]:
    query = _join(clauses, quoted='"{}"', any_of=" OR ", all_of=" AND ")
    return literal_column("search").op("MATCH", is_comparison=True)(bindparam(None, query, String))


def _matches_on_postgres(clauses: Clauses) -> ColumnElement[bool]:
    query = _join(clauses, quoted="'{}'", any_of=" | ", all_of=" & ").replace("*'", "':*")
    # Not `to_tsquery`, which would split the tokens in its own way.
    return literal_column("listed.tokens").op("@@", is_comparison=True)(
        text("CAST(:words AS tsquery)").bindparams(words=query)
    )


def _join(clauses: Clauses, *, quoted: str, any_of: str, all_of: str) -> str:
    groups = (any_of.join(quoted.format(token) for token in clause) for clause in clauses)
    return all_of.join(f"({group})" for group in groups)


# --- Pages of an order, read from indexes or cut out of search results, and their cursors ---

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


def read_cursor(cursor: str, order: SortKey, *, descending: bool) -> Position:
    """The position in a list of that order; raises UsageError.

    A cursor needs no signature: it says where to continue in an order, never what may be seen.
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
    kind = ORDERS[order].type.python_type
    if type(position.key) is not kind or len(position.id) > _LONGEST:
        raise _refusal("Invalid cursor")
    return position


def _refusal(sentence: str) -> UsageError:
    return UsageError(
        sentence, hint="send `next_cursor` of the previous page, or omit `cursor` to start over"
    )


# --- Pages ---

ORDERS: dict[SortKey, ColumnElement[Any]] = {
    key: environments.c[column] for key, column in ORDER_COLUMNS.items()
}

_MOST_WALKS = 16

_place = itemgetter(1, 0)
"""A row's position in the order, since access by attributes takes longer than the search."""

_Keys = Select[Any] | CompoundSelect[Any]


class Slice(Struct, frozen=True):
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
        """Selects `id`, and `key`, the sort key of the order."""
        return select(environments.c.id, ORDERS[self.order].label("key"))

    def position(self, row: Row[Any]) -> Position:
        """Just after a row of `keys`."""
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
        # It merges sorted input, and otherwise sorts whole tables.
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
