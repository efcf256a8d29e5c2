"""Search through the full-text index of either database.

A search is clauses, which must all hold; each is tokens of which any will do. Tokens are letters,
digits, `=` and `_`, whatever the user wrote, so that they can stand in a query as they are; one
that ends with `*` stands for all that begin so, which only PostgreSQL takes.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    String,
    bindparam,
    column,
    exists,
    func,
    literal_column,
    select,
    table,
    text,
)

from prime_cli.hub.db.tables import environments, listed, tallies
from prime_cli.hub.search_index import VisibilitySet

MOST_HITS = 1000
"""A search finds no more than so many environments: those that were listed last."""

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
    """Of `found`, a selection of environments in the sets, those hits that were listed last.

    They are at most MOST_HITS; what is in other sets does not count among these. `sets` says
    how many environments each has.
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
    """About how many environments are listed, and never less: the number of the newest."""
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
        # No index has this order, which leaves the one of the words.
        return (listed.c.number + 0).desc()
    connection.exec_driver_sql("SET LOCAL enable_bitmapscan = off")
    return listed.c.number.desc()


def _tally(connection: Connection, clause: Sequence[str]) -> int:
    """How many environments have one of the tokens; those that have several count again."""
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
    """The condition under which a row of `listed` is found."""
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
    # Not `to_tsquery`, which would take the tokens apart in its own way.
    return literal_column("listed.tokens").op("@@", is_comparison=True)(
        text("CAST(:words AS tsquery)").bindparams(words=query)
    )


def _join(clauses: Clauses, *, quoted: str, any_of: str, all_of: str) -> str:
    groups = (any_of.join(quoted.format(token) for token in clause) for clause in clauses)
    return all_of.join(f"({group})" for group in groups)
