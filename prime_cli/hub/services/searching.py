"""Search through the full-text index of either database.

A search is clauses, which must all hold; each is tokens of which any will do. Tokens are letters,
digits, `=` and `_`, whatever the user wrote, so that they can stand in a query as they are.
"""

from collections.abc import Sequence

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

from prime_cli.hub.db.tables import listed, tallies

MOST_HITS = 1000
"""A search finds no more than so many environments: those that were listed last."""

_SHORTEST_BEGINNING = 3
_MOST_COMPLETIONS = 32
_MOST_LOOKED_AT = 5000

Clauses = list[Sequence[str]]

_search = table("search", column("rowid"))


def complete(connection: Connection, word: str) -> list[str]:
    """The words that a word of a search stands for: itself, and what begins with it.

    Less than three characters stand for themselves. Of too many words those in most environments
    count, out of the first 5,000 in the order of the alphabet.
    """
    if len(word) < _SHORTEST_BEGINNING:
        return [word]
    begun = (
        select(tallies)
        .where(tallies.c.token > word, tallies.c.token < word + "\U0010ffff")
        .where(tallies.c.count > 0)
        .order_by(tallies.c.token)
        .limit(_MOST_LOOKED_AT)
        .subquery()
    )
    best = select(begun.c.token).order_by(begun.c.count.desc(), begun.c.token)
    return [word, *connection.execute(best.limit(_MOST_COMPLETIONS)).scalars()]


def newest_hits(connection: Connection, clauses: Clauses) -> Select[tuple[str]]:
    """Selects `environment_id` of the environments that were listed last, at most MOST_HITS."""
    if connection.dialect.name == "sqlite":
        # In this order FTS5 stops reading at the limit, however common the words are.
        hits = (
            select(listed.c.environment_id)
            .select_from(_search)
            .join(listed, listed.c.number == _search.c.rowid)
            .where(_matches_on_sqlite(clauses))
            .order_by(_search.c.rowid.desc())
        )
    else:
        # A plan that fits rare words would take seconds for common ones, and the other way round.
        connection.execute(text("SET LOCAL plan_cache_mode = force_custom_plan"))
        newest = listed.c.number.desc()
        if _is_better_looked_up(connection, clauses):
            # No index has this order, so the planner is left with the one of the words.
            newest = (listed.c.number + 0).desc()
        hits = select(listed.c.environment_id).where(_matches_on_postgres(clauses)).order_by(newest)
    return hits.limit(MOST_HITS)


def _is_better_looked_up(connection: Connection, clauses: Clauses) -> bool:
    """Whether it is cheaper to look up all hits than to go back from the newest environment.

    PostgreSQL's planner would know, but for what a comparison with many words takes: measured,
    a fifth of what it takes to read a row, for each word.
    """
    tokens = {token for clause in clauses for token in clause}
    rows = connection.execute(select(tallies).where(tallies.c.token.in_(sorted(tokens))))
    counts = {token: int(count) for token, count in rows}
    newest = connection.execute(select(func.max(listed.c.number))).scalar_one() or 1
    share = 1.0
    for clause in clauses:
        share *= min(1.0, sum(counts.get(token, 0) for token in clause) / newest)
    walked = min(newest, MOST_HITS / share) if share else newest
    return walked * (1 + len(tokens) / 5) > share * newest


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
    query = _join(clauses, quoted="'{}'", any_of=" | ", all_of=" & ")
    # Not `to_tsquery`, which would take the tokens apart in its own way.
    return literal_column("listed.tokens").op("@@", is_comparison=True)(
        text("CAST(:words AS tsquery)").bindparams(words=query)
    )


def _join(clauses: Clauses, *, quoted: str, any_of: str, all_of: str) -> str:
    groups = (any_of.join(quoted.format(token) for token in clause) for clause in clauses)
    return all_of.join(f"({group})" for group in groups)
