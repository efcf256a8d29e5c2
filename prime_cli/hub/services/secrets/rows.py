"""What the services of secrets share: finding, naming, showing."""

from typing import Any

from sqlalchemy import Connection, Row, Table, select

from prime_cli.core.errors import Conflict, NotFound
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import owners
from prime_cli.hub.services.access import find_by_id, require_owner, require_user
from prime_cli.hub.services.owners import TEAM, USER, owner_id
from prime_cli.wire.secrets import Secret, SecretChange, VariableChange

ENVIRONMENT = "environment"
GLOBAL = "global"


def owner_of(
    hub: Hub, connection: Connection, caller: Caller, team_id: str | None = None
) -> Row[Any]:
    """The caller, or a team of the caller; a team of others is as one that does not exist."""
    require_user(caller)
    wanted = owners.c.id == (team_id or owner_id(hub, connection, caller.slug))
    row = connection.execute(select(owners).where(wanted)).one_or_none()
    if row is None or row.slug not in caller.reads:
        raise NotFound(f"Team `{team_id}` not found")
    return row


def writable_environment(connection: Connection, caller: Caller, environment_id: str) -> Row[Any]:
    """The environment whose secrets are asked for; who may not write it may not list them."""
    environment = find_by_id(connection, caller, environment_id)
    require_owner(caller, environment)
    return environment


def require_free_name(
    connection: Connection, table: Table, name: str, *others: Any, but: str = ""
) -> None:
    """Raise Conflict when one of the rows that fulfil `others` has the name, unless it is `but`."""
    taken = select(table.c.id).where(table.c.name == name, table.c.id != but, *others)
    if connection.execute(taken).first() is not None:
        raise Conflict(f"`{name}` already exists", hint="update it, or choose another name")


def changes_of(change: SecretChange | VariableChange, now: str) -> dict[str, Any]:
    """The columns that a PATCH changes."""
    fields = ("name", "value", "description")
    given = {name: getattr(change, name) for name in fields if getattr(change, name) is not None}
    return {**given, "updated_at": now}


def shown(row: Row[Any], owner: Row[Any]) -> Secret:
    """A row of `secrets` without its value."""
    return Secret(
        id=row.id,
        name=row.name,
        source=GLOBAL if row.environment_id is None else ENVIRONMENT,
        description=row.description,
        is_file=bool(row.is_file),
        user_id=owner.id if owner.type == USER else None,
        team_id=owner.id if owner.type == TEAM else None,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )
