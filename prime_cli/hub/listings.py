"""Keep `listed` and `tallies`: the environments that lists and search show, under their tokens.

Whoever changes a name, an owner, the visibility, the newest version or the tags of an environment
calls `list_anew` in the same transaction.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, delete, insert, select, text, update

from prime_cli.hub.db.tables import environments, listed, owners, tags, tallies
from prime_cli.hub.shelves import Shelf, tag_token
from prime_cli.hub.words import document_words

_BATCH = 2000

_COUNT = text(
    "INSERT INTO tallies (token, count) VALUES (:token, :change) "
    "ON CONFLICT (token) DO UPDATE SET count = tallies.count + :change"
)


def list_anew(connection: Connection, environment_id: str) -> None:
    """Show an environment as it is now, or not at all while it has no version."""
    shown = connection.execute(
        _select_shown().where(environments.c.id == environment_id)
    ).one_or_none()
    known = connection.execute(
        select(listed.c.number, listed.c.tokens).where(listed.c.environment_id == environment_id)
    ).one_or_none()
    before = set(known.tokens) if known else set()
    after = _tokens(shown, _tags_of(connection, [environment_id])) if shown else []
    if known and not shown:
        connection.execute(delete(listed).where(listed.c.number == known.number))
    elif known and before != set(after):
        connection.execute(
            update(listed).where(listed.c.number == known.number).values(tokens=after)
        )
    elif shown and not known:
        connection.execute(insert(listed).values(environment_id=environment_id, tokens=after))
    _count(connection, added=set(after) - before, removed=before - set(after))


def list_owner_anew(connection: Connection, owner_id: str) -> None:
    """Show all environments of an owner as they are now."""
    theirs = select(environments.c.id).where(environments.c.owner_id == owner_id)
    for environment_id in connection.execute(theirs).scalars().all():
        list_anew(connection, environment_id)


def list_everything(connection: Connection) -> None:
    """Fill the empty tables with all that is published, oldest first."""
    counts: Counter[str] = Counter()
    oldest_first = _select_shown().order_by(environments.c.created_at, environments.c.id)
    rows = connection.execute(oldest_first, execution_options={"yield_per": _BATCH})
    for batch in rows.partitions():
        by_id = _tags_of(connection, [row.id for row in batch])
        found = [{"environment_id": row.id, "tokens": _tokens(row, by_id)} for row in batch]
        connection.execute(insert(listed), found)
        counts.update(token for row in found for token in row["tokens"])
    if counts:
        totals = [{"token": token, "count": count} for token, count in sorted(counts.items())]
        connection.execute(insert(tallies), totals)


def _select_shown() -> Select[Any]:
    # The columns are named: a step to schema 3 runs this before later ones add theirs.
    return (
        select(
            environments.c.id,
            environments.c.name,
            environments.c.owner_id,
            environments.c.visibility,
            environments.c.description,
            owners.c.slug,
        )
        .join(owners, environments.c.owner_id == owners.c.id)
        .where(environments.c.latest_version_id.is_not(None))
    )


def _tags_of(connection: Connection, ids: Sequence[str]) -> dict[str, list[str]]:
    by_id: dict[str, list[str]] = {}
    rows = select(tags).where(tags.c.environment_id.in_(ids)).order_by(tags.c.tag)
    for row in connection.execute(rows):
        by_id.setdefault(row.environment_id, []).append(row.tag)
    return by_id


def _tokens(row: Row[Any], tags_by_id: dict[str, list[str]]) -> list[str]:
    """The shelves that an environment stands on, its tags, and the words that it is found by."""
    named = tags_by_id.get(row.id, [])
    shelves = Shelf(row.visibility), Shelf(row.visibility, row.owner_id)
    words = document_words([row.name, row.slug, *named, row.description])
    return [*(shelf.token for shelf in shelves), *(tag_token(tag) for tag in named), *words]


def _count(connection: Connection, *, added: Iterable[str], removed: Iterable[str]) -> None:
    # Sorted, so that two writers could never wait for each other's rows.
    changes = [{"token": token, "change": 1} for token in added]
    changes += [{"token": token, "change": -1} for token in removed]
    if changes:
        connection.execute(_COUNT, sorted(changes, key=lambda change: str(change["token"])))
