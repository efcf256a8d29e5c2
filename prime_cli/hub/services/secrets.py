"""Secrets of users and teams, and what those of environments have in common with them."""

from typing import Any

from sqlalchemy import Connection, Row, Table, delete, func, insert, select, update

from prime_cli.core.errors import Conflict, NotFound
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import owners, secrets
from prime_cli.hub.encryption import open_seal
from prime_cli.hub.services.access import (
    TEAM,
    USER,
    find_by_id,
    find_owner,
    owner_id,
    require_own,
    require_owner,
    require_owner_slug,
    require_user,
)
from prime_cli.hub.services.audit import record
from prime_cli.hub.tokens import new_id
from prime_cli.wire.secrets import (
    Done,
    NewSecret,
    Secret,
    SecretChange,
    SecretPage,
    SecretQuery,
    VariableChange,
)

# --- Shared ---

ENVIRONMENT = "environment"
GLOBAL = "global"


def owner_of(
    hub: Hub, connection: Connection, caller: Caller, team_id: str | None = None
) -> Row[Any]:
    """The caller, or a team of the caller; other teams count as missing.

    Raises NotLoggedIn, NotFound, and NotAllowed for a key limited to a team that is not named.
    """
    found = _find_owner(connection, caller, team_id)
    if found is not None:
        return found
    made = owner_id(hub, connection, caller.slug)
    return connection.execute(select(owners).where(owners.c.id == made)).one()


def _find_owner(connection: Connection, caller: Caller, team_id: str | None) -> Row[Any] | None:
    """As `owner_of`; None for a caller who has published nothing, on a hub without accounts."""
    require_user(caller)
    if team_id is None:
        require_own(caller, f"the secrets of `{caller.slug}`")
        return find_owner(connection, caller.slug)
    row = connection.execute(select(owners).where(owners.c.id == team_id)).one_or_none()
    if row is None or row.slug not in caller.reads:
        raise NotFound(f"Team `{team_id}` not found")
    return row


def writable_environment(connection: Connection, caller: Caller, environment_id: str) -> Row[Any]:
    """The environment whose secrets are requested; only those who may write it may list them."""
    environment = find_by_id(connection, caller, environment_id)
    require_owner(caller, environment)
    return environment


def require_free_name(
    connection: Connection, table: Table, name: str, *others: Any, but: str = ""
) -> None:
    """Raise Conflict if one of the rows that satisfy `others` has the name, except `but`."""
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


# --- Secrets ---


def list_secrets(hub: Hub, caller: Caller, query: SecretQuery) -> SecretPage:
    """The secrets of the caller or of a team, by name; without values."""
    with hub.database.read() as connection:
        owner = _find_owner(connection, caller, query.team_id)
        if owner is None:
            return SecretPage([], 0, query.offset, query.limit)
        mine = secrets.c.owner_id == owner.id, secrets.c.environment_id.is_(None)
        rows = connection.execute(
            select(secrets)
            .where(*mine)
            .order_by(secrets.c.name)
            .offset(query.offset)
            .limit(query.limit)
        ).all()
        total = connection.execute(select(func.count()).where(*mine)).scalar_one()
    return SecretPage([shown(row, owner) for row in rows], total, query.offset, query.limit)


def create_secret(hub: Hub, caller: Caller, secret: NewSecret) -> Secret:
    """Store a secret; raises Conflict if the owner has one of that name."""
    with hub.database.write() as connection:
        owner = owner_of(hub, connection, caller, secret.team_id)
        require_owner_slug(caller, owner.slug, f"the secrets of {owner.slug}")
        mine = secrets.c.owner_id == owner.id, secrets.c.environment_id.is_(None)
        require_free_name(connection, secrets, secret.name, *mine)
        row = insert_secret(hub, connection, owner.id, secret)
        record(hub, connection, caller, "secret.create", f"{owner.slug} {secret.name}")
    return shown(row, owner)


def get_secret(hub: Hub, caller: Caller, secret_id: str) -> Secret:
    """One secret, without its value; raises NotFound."""
    with hub.database.read() as connection:
        row, owner = find_secret(connection, caller, secret_id)
    return shown(row, owner)


def update_secret(hub: Hub, caller: Caller, secret_id: str, change: SecretChange) -> Secret:
    """Change what is given; raises NotFound, Conflict for a name that is taken."""
    with hub.database.write() as connection:
        row, owner = find_secret(connection, caller, secret_id)
        require_owner_slug(caller, owner.slug, f"the secrets of {owner.slug}")
        mine = secrets.c.owner_id == owner.id, secrets.c.environment_id.is_(None)
        require_free_name(connection, secrets, change.name or row.name, *mine, but=row.id)
        row = change_secret(hub, connection, row.id, change)
        record(hub, connection, caller, "secret.update", f"{owner.slug} {row.name}")
    return shown(row, owner)


def delete_secret(hub: Hub, caller: Caller, secret_id: str) -> Done:
    """Delete a secret, and every link to it; raises NotFound."""
    with hub.database.write() as connection:
        row, owner = find_secret(connection, caller, secret_id)
        require_owner_slug(caller, owner.slug, f"the secrets of {owner.slug}")
        connection.execute(delete(secrets).where(secrets.c.id == row.id))
        record(hub, connection, caller, "secret.delete", f"{owner.slug} {row.name}")
    return Done()


def find_secret(
    connection: Connection, caller: Caller, secret_id: str
) -> tuple[Row[Any], Row[Any]]:
    """A secret of an owner whom the caller acts for, and that owner; raises NotFound."""
    row = connection.execute(
        select(secrets).where(secrets.c.id == secret_id, secrets.c.environment_id.is_(None))
    ).one_or_none()
    owner = connection.execute(
        select(owners).where(owners.c.id == (row.owner_id if row is not None else ""))
    ).one_or_none()
    if row is None or owner is None or owner.slug not in caller.reads:
        raise NotFound(f"Secret `{secret_id}` not found")
    return row, owner


def insert_secret(
    hub: Hub,
    connection: Connection,
    owner_id: str,
    secret: NewSecret,
    *,
    environment_id: str | None = None,
) -> Row[Any]:
    """The row of a new secret, sealed."""
    now = hub.now()
    return connection.execute(
        insert(secrets)
        .values(
            id=new_id("sec"),
            owner_id=owner_id,
            environment_id=environment_id,
            name=secret.name,
            value=open_seal(hub.settings).seal(secret.value),
            description=secret.description,
            is_file=secret.is_file,
            created_at=now,
            updated_at=now,
        )
        .returning(secrets)
    ).one()


def change_secret(
    hub: Hub, connection: Connection, secret_id: str, change: SecretChange
) -> Row[Any]:
    """The row after a change; a new value is sealed."""
    values = changes_of(change, hub.now())
    if change.value is not None:
        values["value"] = open_seal(hub.settings).seal(change.value)
    return connection.execute(
        update(secrets).where(secrets.c.id == secret_id).values(values).returning(secrets)
    ).one()
