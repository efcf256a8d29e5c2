"""Secrets of users and teams, which environments may be linked to."""

from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from prime_cli.core.errors import NotFound
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import owners, secrets
from prime_cli.hub.sealing import open_seal
from prime_cli.hub.services.access import require_owner_slug
from prime_cli.hub.services.audit import record
from prime_cli.hub.services.secrets.rows import changes_of, owner_of, require_free_name, shown
from prime_cli.hub.tokens import new_id
from prime_cli.wire.secrets import Done, NewSecret, Secret, SecretChange, SecretPage


def list_secrets(
    hub: Hub, caller: Caller, team_id: str | None, *, offset: int, limit: int
) -> SecretPage:
    """The secrets of the caller or of a team, by name; values stay here."""
    with hub.database.write() as connection:
        owner = owner_of(hub, connection, caller, team_id)
        mine = secrets.c.owner_id == owner.id, secrets.c.environment_id.is_(None)
        rows = connection.execute(
            select(secrets).where(*mine).order_by(secrets.c.name).offset(offset).limit(limit)
        ).all()
        total = connection.execute(select(func.count()).where(*mine)).scalar_one()
    return SecretPage([shown(row, owner) for row in rows], total, offset, limit)


def create_secret(hub: Hub, caller: Caller, secret: NewSecret) -> Secret:
    """Keep a secret; raises Conflict when the owner has one of that name."""
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
    """Forget a secret, and every link to it; raises NotFound."""
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
