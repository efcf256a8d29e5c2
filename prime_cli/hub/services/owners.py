"""Users and teams as owners of what is published."""

from typing import Any

from sqlalchemy import Connection, Row, insert, select

from prime_cli.core.errors import NotFound
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import owners
from prime_cli.hub.tokens import new_id

USER = "user"
TEAM = "team"
UPSTREAM = "upstream"


def find_owner(connection: Connection, slug: str) -> Row[Any] | None:
    """The row of an owner, or None."""
    return connection.execute(select(owners).where(owners.c.slug == slug)).one_or_none()


def find_team(connection: Connection, team_id: str) -> Row[Any]:
    """The row of a team by its id or slug; raises NotFound."""
    row = connection.execute(
        select(owners).where(
            owners.c.type == TEAM, (owners.c.id == team_id) | (owners.c.slug == team_id)
        )
    ).first()
    if row is None:
        raise _no_team(team_id)
    return row


def find_own_team(connection: Connection, caller: Caller, team_id: str) -> Row[Any]:
    """As `find_team`; a team that the key is not good for is not found either."""
    row = find_team(connection, team_id)
    if row.slug not in caller.reads:
        raise _no_team(team_id)
    return row


def owner_id(hub: Hub, connection: Connection, slug: str) -> str:
    """The id of the owner `slug`; without accounts, one that publishes for the first time is made.

    Raises NotFound.
    """
    row = find_owner(connection, slug)
    if row is not None:
        return str(row.id)
    if hub.settings.accounts:
        raise NotFound(f"There is no user or team `{slug}` here")
    made = new_id(USER)
    connection.execute(insert(owners).values(id=made, slug=slug, type=USER, created_at=hub.now()))
    return made


def _no_team(team_id: str) -> NotFound:
    return NotFound(f"Team `{team_id[:80]}` not found", hint="see yours with `prime teams list`")
