"""The list of environments: filters, order, pages."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, func, or_, select

from prime_cli.core.errors import UsageError
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import artifacts, environments, owners, stars, tags, versions
from prime_cli.hub.services.access import read_visibility, select_environments, visible_to
from prime_cli.wire.codec import decode
from prime_cli.wire.environments import (
    EnvironmentItem,
    EnvironmentMetadata,
    EnvironmentPage,
    Owner,
)

_STARS = (
    select(func.count())
    .where(stars.c.environment_id == environments.c.id)
    .correlate(environments)
    .scalar_subquery()
)

ORDERS: dict[str, ColumnElement[Any]] = {
    "name": environments.c.normalized_name,
    "created_at": environments.c.created_at,
    "updated_at": environments.c.updated_at,
    "stars": _STARS,
}


@dataclass(frozen=True)
class CatalogueQuery:
    """What a list is asked for. Several tags, or several words to search for, must all be there;
    a word is looked for in name, owner, description and tags.
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


def list_environments(hub: Hub, caller: Caller, query: CatalogueQuery) -> EnvironmentPage:
    """One page of what the caller may see; environments without a version are left out."""
    if query.sort_by not in ORDERS:
        raise UsageError(
            f"`{query.sort_by}` is not an order", hint=f"write one of {', '.join(ORDERS)}"
        )
    wanted = _conditions(caller, query)
    count = (
        select(func.count())
        .select_from(environments.join(owners, environments.c.owner_id == owners.c.id))
        .where(*wanted)
    )
    column = ORDERS[query.sort_by]
    page = (
        _select_items()
        .where(*wanted)
        .order_by(column.desc() if query.descending else column.asc(), environments.c.id)
        .limit(query.limit)
        .offset(query.offset)
    )
    with hub.database.read() as connection:
        rows = connection.execute(page).all()
        total = connection.execute(count).scalar_one()
    return EnvironmentPage([_item(row) for row in rows], total_count=total)


def _select_items() -> Select[Any]:
    return (
        select_environments()
        .add_columns(
            versions.c.semantic_version,
            artifacts.c.metadata.label("metadata"),
            _STARS.label("stars"),
        )
        .join(versions, versions.c.id == environments.c.latest_version_id)
        .join(artifacts, artifacts.c.id == versions.c.wheel_id)
    )


def _conditions(caller: Caller, query: CatalogueQuery) -> list[ColumnElement[bool]]:
    wanted = [environments.c.latest_version_id.is_not(None), visible_to(caller)]
    if query.owner:
        wanted.append(owners.c.slug == query.owner)
    if query.mine_only:
        wanted.append(owners.c.slug.in_(caller.reads))
    if visibility := read_visibility(query.visibility):
        wanted.append(environments.c.visibility == visibility)
    if query.starred_only:
        wanted.append(environments.c.id.in_(_starred_by(caller)))
    wanted.extend(environments.c.id.in_(_tagged(tag)) for tag in query.tags)
    wanted.extend(_mentions(word) for word in (query.search or "").split())
    return wanted


def _tagged(tag: str) -> Select[Any]:
    return select(tags.c.environment_id).where(tags.c.tag == tag.lower())


def _starred_by(caller: Caller) -> Select[Any]:
    by = owners.alias("by")
    return (
        select(stars.c.environment_id)
        .join(by, stars.c.owner_id == by.c.id)
        .where(by.c.slug == caller.slug)
    )


def _mentions(word: str) -> ColumnElement[bool]:
    return or_(
        environments.c.name.icontains(word, autoescape=True),
        owners.c.slug.icontains(word, autoescape=True),
        environments.c.description.icontains(word, autoescape=True),
        environments.c.id.in_(_tagged(word)),
    )


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
