"""The list of environments: filters, order, pages."""

from typing import Any

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, Row, Select, func, or_, select

from prime_cli.core.errors import UsageError
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import (
    artifacts,
    environments,
    listed,
    owners,
    stars,
    tallies,
    versions,
)
from prime_cli.hub.search_index import VisibilitySet, kind_token, search_words, tag_token
from prime_cli.hub.services.access import (
    PRIVATE,
    PUBLIC,
    require_valid_key,
    select_environments,
    visible_to,
)
from prime_cli.hub.services.evaluations.standings import count_evaluations
from prime_cli.hub.services.search import (
    Clauses,
    Slice,
    complete,
    cut,
    is_hit,
    newest_hits,
    read_cursor,
    walk,
    write_cursor,
)
from prime_cli.wire.codec import decode
from prime_cli.wire.environments import (
    EnvironmentItem,
    EnvironmentMetadata,
    EnvironmentPage,
    EnvironmentQuery,
    Owner,
    Visibility,
)
from prime_cli.wire.queries import SortOrder

# --- Visibility sets ---


def visible_sets(
    connection: Connection,
    caller: Caller,
    *,
    owner: str | None = None,
    mine_only: bool = False,
    visibility: str | None = None,
) -> dict[VisibilitySet, int]:
    """The sets of all that the caller may see of that owner and visibility, largest first.

    They are disjoint; empty ones are omitted.
    """
    ids = _ids_of(connection, caller.reads | ({owner} if owner else frozenset()))
    mine = {ids[slug] for slug in caller.reads if slug in ids}
    if owner is None and not mine_only:
        sets = [VisibilitySet(PUBLIC), *(VisibilitySet(PRIVATE, one) for one in mine)]
    else:
        wanted = mine if owner is None else {ids[owner]} if owner in ids else set()
        wanted = wanted & mine if mine_only else wanted
        sets = [VisibilitySet(PUBLIC, one) for one in wanted]
        sets += [VisibilitySet(PRIVATE, one) for one in wanted & mine]
    return _count(connection, [each for each in sets if visibility in (None, each.visibility)])


def _ids_of(connection: Connection, slugs: frozenset[str]) -> dict[str, str]:
    rows = select(owners.c.slug, owners.c.id).where(owners.c.slug.in_(sorted(slugs)))
    return {row.slug: row.id for row in connection.execute(rows)}


def _count(connection: Connection, sets: list[VisibilitySet]) -> dict[VisibilitySet, int]:
    by_token = {each.token: each for each in sets}
    rows = connection.execute(
        select(tallies).where(tallies.c.token.in_(sorted(by_token)), tallies.c.count > 0)
    )
    counts: dict[VisibilitySet, int] = {by_token[token]: count for token, count in rows}
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0].token)))


# --- Finding ---


class Conditions(Struct, frozen=True):
    """What environments must all satisfy; `words` None for any text.

    `columns` are conditions on rows of the table.
    """

    words: tuple[str, ...] | None = None
    tags: tuple[str, ...] = ()
    kind: str | None = None
    starred: bool = False
    columns: tuple[ColumnElement[bool], ...] = ()

    @property
    def is_search(self) -> bool:
        """Whether it needs more than the columns of the table."""
        return self.words is not None or bool(self.tags or self.kind) or self.starred


def find(
    connection: Connection,
    caller: Caller,
    sets: dict[VisibilitySet, int],
    wanted: Conditions,
    columns: Select[Any],
) -> list[Row[Any]]:
    """`columns` of every environment that is found in the sets, in no order.

    Of a search, or of tags, that is no more than MOST_HITS; of stars, all that the caller has
    given.
    """
    if not sets or wanted.words == ():
        return []
    clauses: Clauses = [[tag_token(tag)] for tag in wanted.tags]
    if wanted.kind is not None:
        clauses.append([kind_token(wanted.kind), tag_token(wanted.kind)])
    clauses += [complete(connection, word) for word in wanted.words or ()]
    found = columns.where(or_(*(each.holds for each in sets)))
    if wanted.starred:
        found = _starred_by(caller, found)
        if clauses:
            found = found.join(listed, listed.c.environment_id == environments.c.id)
            found = found.where(is_hit(connection, clauses))
    else:
        found = newest_hits(connection, found, clauses, sets)
    if wanted.columns:
        hits = found.subquery()
        found = columns.join(hits, hits.c.id == environments.c.id).where(*wanted.columns)
    return list(connection.execute(found))


def _count_rows(
    connection: Connection,
    sets: dict[VisibilitySet, int],
    conditions: tuple[ColumnElement[bool], ...],
) -> int:
    """How many environments of the sets satisfy the conditions."""
    if not sets or not conditions:
        return sum(sets.values())
    rows = select(func.count()).select_from(environments)
    holds = or_(*(each.holds for each in sets))
    return connection.execute(rows.where(holds, *conditions)).scalar_one()


def _starred_by(caller: Caller, found: Select[Any]) -> Select[Any]:
    return (
        found.join(stars, stars.c.environment_id == environments.c.id)
        .join(owners, stars.c.owner_id == owners.c.id)
        .where(owners.c.slug == caller.slug)
    )


# --- The list ---

_MOST_WORDS = 16


def list_environments(hub: Hub, caller: Caller, query: EnvironmentQuery) -> EnvironmentPage:
    """One page of visible environments; those without a version are left out.

    Searches, and lists of a tag, are limited to the 1,000 most recently listed environments, in
    their counts too. Raises UsageError for an invalid cursor, and for too deep an offset,
    NotLoggedIn if only a valid key could find something.
    """
    if query.mine_only or query.starred_only or query.visibility is Visibility.PRIVATE:
        require_valid_key(caller)
    part = _slice(query)
    wanted = _wanted(query)
    with hub.database.read() as connection:
        sets = visible_sets(
            connection,
            caller,
            owner=query.owner,
            mine_only=query.mine_only,
            visibility=query.visibility and query.visibility.upper(),
        )
        if wanted.is_search:
            found = find(connection, caller, sets, wanted, part.keys())
            rows, total = cut(found, part), len(found)
        else:
            rows = walk(connection, sets, part, wanted.columns)
            total = _count_rows(connection, sets, wanted.columns)
        shown = rows[: part.limit]
        items = _items(connection, caller, [row.id for row in shown])
    more = write_cursor(part.position(shown[-1])) if len(rows) > len(shown) else None
    return EnvironmentPage(items, total_count=total, next_cursor=more)


def _slice(query: EnvironmentQuery) -> Slice:
    descending = query.sort_order is SortOrder.DESC
    after = None
    if query.cursor:
        after = read_cursor(query.cursor, query.sort_by, descending=descending)
    return Slice(query.sort_by, descending, query.limit, query.offset, after)


def _wanted(query: EnvironmentQuery) -> Conditions:
    searched = bool(query.search and query.search.strip())
    words = search_words(query.search or "")
    if len(words) > _MOST_WORDS:
        raise UsageError(
            f"A search has up to {_MOST_WORDS} words", hint="omit the least specific ones"
        )
    return Conditions(
        words=tuple(words) if searched else None,
        tags=query.tags,
        kind=query.kind,
        starred=query.starred_only,
        columns=(environments.c.stars >= query.min_stars,) if query.min_stars else (),
    )


_COPIED = tuple(
    name
    for name in EnvironmentItem.__struct_fields__
    if name in environments.c and name not in ("kinds", "evaluations")
)
"""Fields of an item that are columns of the table."""


def _items(connection: Connection, caller: Caller, ids: list[str]) -> list[EnvironmentItem]:
    """The environments of a page in order. Visibility is checked once more."""
    rows = connection.execute(
        select_environments()
        .add_columns(versions.c.semantic_version, artifacts.c.metadata.label("metadata"))
        .join(versions, versions.c.id == environments.c.latest_version_id)
        .join(artifacts, artifacts.c.id == versions.c.wheel_id)
        .where(environments.c.id.in_(ids), visible_to(caller))
    )
    by_id = {row.id: row for row in rows}
    counts = count_evaluations(connection, caller, ids)
    return [_item(by_id[each], counts[each]) for each in ids if each in by_id]


def _item(row: Row[Any], evaluations: int) -> EnvironmentItem:
    metadata = decode(row.metadata.encode(), EnvironmentMetadata)
    return EnvironmentItem(
        owner=Owner(row.owner, row.owner_type),
        latest_version=row.semantic_version,
        tags=metadata.tags,
        kinds=row.kinds.split(),
        evaluations=evaluations,
        **{name: getattr(row, name) for name in _COPIED},
    )
