"""The list of environments: filters, order, pages."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row

from prime_cli.core.errors import UsageError
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import artifacts, environments, versions
from prime_cli.hub.services.access import read_visibility, select_environments, visible_to
from prime_cli.hub.services.cursors import read_cursor, write_cursor
from prime_cli.hub.services.finding import Wanted, find
from prime_cli.hub.services.paging import Slice, cut, walk
from prime_cli.hub.services.stock import stocked_shelves
from prime_cli.hub.words import search_words
from prime_cli.wire.codec import decode
from prime_cli.wire.environments import (
    EnvironmentItem,
    EnvironmentMetadata,
    EnvironmentPage,
    Owner,
)

_MOST_WORDS = 16


@dataclass(frozen=True)
class CatalogueQuery:
    """What a list is asked for. Several tags, or several words to search for, must all be there;
    a word is looked for at the beginning of words in name, owner, description and tags.

    A page is at an `offset`, or goes on at the `cursor` that the page before has given.
    """

    owner: str | None = None
    visibility: str | None = None
    search: str | None = None
    tags: tuple[str, ...] = ()
    starred_only: bool = False
    mine_only: bool = False
    sort_by: str = "created_at"
    descending: bool = True
    limit: int = 20
    offset: int = 0
    cursor: str | None = None


def list_environments(hub: Hub, caller: Caller, query: CatalogueQuery) -> EnvironmentPage:
    """One page of what the caller may see; environments without a version are left out.

    Searches, and lists of a tag, hold the 1,000 environments that were listed last, and count no
    more. Raises UsageError for an order or cursor that is none, and for too deep an offset.
    """
    part = _slice(query)
    wanted = _wanted(query)
    with hub.database.read() as connection:
        shelves = stocked_shelves(
            connection,
            caller,
            owner=query.owner,
            mine_only=query.mine_only,
            visibility=read_visibility(query.visibility),
        )
        if wanted.everything:
            rows, total = walk(connection, shelves, part), sum(shelves.values())
        else:
            found = find(connection, caller, shelves, wanted, part.keys())
            rows, total = cut(found, part), len(found)
        shown = rows[: part.limit]
        items = _items(connection, caller, [row.id for row in shown])
    more = write_cursor(part.position(shown[-1])) if len(rows) > len(shown) else None
    return EnvironmentPage(items, total_count=total, next_cursor=more)


def _slice(query: CatalogueQuery) -> Slice:
    after = None
    if query.cursor:
        after = read_cursor(query.cursor, query.sort_by, descending=query.descending)
    return Slice(query.sort_by, query.descending, query.limit, query.offset, after)


def _wanted(query: CatalogueQuery) -> Wanted:
    searched = bool(query.search and query.search.strip())
    words = search_words(query.search or "")
    if len(words) > _MOST_WORDS:
        raise UsageError(
            f"A search has up to {_MOST_WORDS} words", hint="leave out those that say least"
        )
    return Wanted(
        words=tuple(words) if searched else None, tags=query.tags, starred=query.starred_only
    )


def _items(connection: Connection, caller: Caller, ids: list[str]) -> list[EnvironmentItem]:
    """The environments of a page in its order. Whether they may be seen is asked once more."""
    rows = connection.execute(
        select_environments()
        .add_columns(versions.c.semantic_version, artifacts.c.metadata.label("metadata"))
        .join(versions, versions.c.id == environments.c.latest_version_id)
        .join(artifacts, artifacts.c.id == versions.c.wheel_id)
        .where(environments.c.id.in_(ids), visible_to(caller))
    )
    by_id = {row.id: row for row in rows}
    return [_item(by_id[each]) for each in ids if each in by_id]


def _item(row: Row[Any]) -> EnvironmentItem:
    metadata = decode(row.metadata.encode(), EnvironmentMetadata)
    return EnvironmentItem(
        id=row.id,
        name=row.name,
        owner=Owner(row.owner, row.owner_type),
        description=row.description,
        visibility=row.visibility,
        latest_version=row.semantic_version,
        stars=row.stars,
        updated_at=row.updated_at,
        tags=metadata.tags,
    )
