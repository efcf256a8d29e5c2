"""What a list with a search, tags or stars finds: all of it, for the order to be made of it."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, or_

from prime_cli.hub.context import Caller
from prime_cli.hub.db.tables import environments, listed, owners, stars
from prime_cli.hub.services.searching import Clauses, complete, is_hit, newest_hits
from prime_cli.hub.shelves import Shelf, tag_token


@dataclass(frozen=True)
class Wanted:
    """What environments must have, all of it; `words` None for whatever they say."""

    words: tuple[str, ...] | None = None
    tags: tuple[str, ...] = ()
    starred: bool = False

    @property
    def everything(self) -> bool:
        """Whether nothing is asked for."""
        return self.words is None and not self.tags and not self.starred


def find(
    connection: Connection,
    caller: Caller,
    shelves: dict[Shelf, int],
    wanted: Wanted,
    columns: Select[Any],
) -> list[Row[Any]]:
    """`columns` of every environment that is found on the shelves, in no order.

    Of a search, or of tags, that is no more than MOST_HITS; of stars, all that the caller has
    given.
    """
    if not shelves or wanted.words == ():
        return []
    clauses: Clauses = [[tag_token(tag)] for tag in wanted.tags]
    clauses += [complete(connection, word) for word in wanted.words or ()]
    found = columns.where(or_(*(shelf.holds for shelf in shelves)))
    if wanted.starred:
        found = _starred_by(caller, found)
        if clauses:
            found = found.join(listed, listed.c.environment_id == environments.c.id)
            found = found.where(is_hit(connection, clauses))
    else:
        found = newest_hits(connection, found, clauses, shelves)
    return list(connection.execute(found))


def _starred_by(caller: Caller, found: Select[Any]) -> Select[Any]:
    return (
        found.join(stars, stars.c.environment_id == environments.c.id)
        .join(owners, stars.c.owner_id == owners.c.id)
        .where(owners.c.slug == caller.slug)
    )
