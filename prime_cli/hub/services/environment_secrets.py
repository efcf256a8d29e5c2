"""Secrets and variables of an environment."""

from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from prime_cli.core.errors import NotFound
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import owners, secret_links, secrets, variables
from prime_cli.hub.encryption import open_seal
from prime_cli.hub.services.audit import record
from prime_cli.hub.services.secrets import (
    change_secret,
    changes_of,
    find_secret,
    insert_secret,
    require_free_name,
    shown,
    writable_environment,
)
from prime_cli.hub.tokens import new_id
from prime_cli.wire.secrets import (
    Done,
    EnvironmentVariable,
    NewSecret,
    NewVariable,
    OpenedSecrets,
    Secret,
    SecretChange,
    SecretLink,
    VariableChange,
)

# --- Secrets ---


def list_environment_secrets(hub: Hub, caller: Caller, environment_id: str) -> list[Secret]:
    """Its own secrets and the linked ones, by name; raises NotFound, NotAllowed."""
    with hub.database.read() as connection:
        environment = writable_environment(connection, caller, environment_id)
        linked = select(secret_links.c.secret_id).where(
            secret_links.c.environment_id == environment.id
        )
        rows = connection.execute(
            select(secrets)
            .where((secrets.c.environment_id == environment.id) | secrets.c.id.in_(linked))
            .order_by(secrets.c.name, secrets.c.id)
        ).all()
        ids = {row.owner_id for row in rows}
        found = connection.execute(select(owners).where(owners.c.id.in_(ids)))
        by_id = {owner.id: owner for owner in found}
    return [shown(row, by_id[row.owner_id]) for row in rows]


def open_secrets(hub: Hub, caller: Caller, environment_id: str) -> OpenedSecrets:
    """The values of an environment's secrets and variables, for a run of it; this is recorded.

    Only those who may change the environment get them, and a linked secret only who acts for its
    owner: somebody who has left a team keeps none of its secrets by a link. An own secret goes
    before a linked one of its name, and a secret before a variable. Raises NotFound, NotAllowed.
    """
    seal = open_seal(hub.settings)
    with hub.database.write() as connection:
        environment = writable_environment(connection, caller, environment_id)
        linked = select(secret_links.c.secret_id).where(
            secret_links.c.environment_id == environment.id
        )
        own = secrets.c.environment_id == environment.id
        rows = connection.execute(
            select(secrets, owners.c.slug.label("owner"))
            .join(owners, owners.c.id == secrets.c.owner_id)
            .where(own | secrets.c.id.in_(linked))
        ).all()
        linked_first = sorted(rows, key=lambda row: row.environment_id is not None)
        opened = {row.name: row.value for row in linked_first if row.owner in caller.reads}
        kept = connection.execute(
            select(variables).where(variables.c.environment_id == environment.id)
        )
        found = OpenedSecrets(
            secrets={name: seal.unseal(value) for name, value in sorted(opened.items())},
            variables={row.name: row.value for row in kept if row.name not in opened},
            withheld=sorted({row.name for row in rows} - opened.keys()),
        )
        slug = f"{environment.owner}/{environment.name}"
        record(hub, connection, caller, "secret.open", slug, names=list(found.secrets))
    return found


def create_environment_secret(
    hub: Hub, caller: Caller, environment_id: str, secret: NewSecret
) -> Secret:
    """Store a secret of one environment; raises Conflict if it has one of that name."""
    with hub.database.write() as connection:
        environment = writable_environment(connection, caller, environment_id)
        own = secrets.c.environment_id == environment.id
        require_free_name(connection, secrets, secret.name, own)
        row = insert_secret(
            hub, connection, environment.owner_id, secret, environment_id=environment.id
        )
        record(hub, connection, caller, "secret.create", _target(environment, secret.name))
        return shown(row, _owner(connection, environment))


def update_environment_secret(
    hub: Hub, caller: Caller, environment_id: str, secret_id: str, change: SecretChange
) -> Secret:
    """Change what is given; raises NotFound, Conflict for a name that is taken."""
    with hub.database.write() as connection:
        environment = writable_environment(connection, caller, environment_id)
        row = _find_secret(connection, environment, secret_id)
        own = secrets.c.environment_id == environment.id
        require_free_name(connection, secrets, change.name or row.name, own, but=row.id)
        row = change_secret(hub, connection, row.id, change)
        record(hub, connection, caller, "secret.update", _target(environment, row.name))
        return shown(row, _owner(connection, environment))


def delete_environment_secret(
    hub: Hub, caller: Caller, environment_id: str, secret_id: str
) -> Done:
    """Delete a secret of an environment; raises NotFound."""
    with hub.database.write() as connection:
        environment = writable_environment(connection, caller, environment_id)
        row = _find_secret(connection, environment, secret_id)
        connection.execute(delete(secrets).where(secrets.c.id == row.id))
        record(hub, connection, caller, "secret.delete", _target(environment, row.name))
    return Done()


def link_secret(hub: Hub, caller: Caller, environment_id: str, secret_id: str) -> SecretLink:
    """Link an owner's secret to an environment; idempotent."""
    with hub.database.write() as connection:
        environment = writable_environment(connection, caller, environment_id)
        secret, _ = find_secret(connection, caller, secret_id)
        link = connection.execute(_link(environment, secret.id)).one_or_none()
        if link is None:
            row = insert(secret_links).values(
                id=new_id("lnk"),
                secret_id=secret.id,
                environment_id=environment.id,
                created_at=hub.now(),
            )
            link = connection.execute(row.returning(secret_links)).one()
            record(hub, connection, caller, "secret.link", _target(environment, secret.name))
    return SecretLink(link.id, secret.id, secret.name, environment.id, link.created_at)


def unlink_secret(hub: Hub, caller: Caller, environment_id: str, secret_id: str) -> Done:
    """Unlink an owner's secret from an environment; raises NotFound."""
    with hub.database.write() as connection:
        environment = writable_environment(connection, caller, environment_id)
        link = connection.execute(_link(environment, secret_id)).one_or_none()
        if link is None:
            raise NotFound(f"Secret `{secret_id}` is not linked to this environment")
        connection.execute(delete(secret_links).where(secret_links.c.id == link.id))
        record(hub, connection, caller, "secret.unlink", _target(environment, secret_id))
    return Done()


def _link(environment: Row[Any], secret_id: str) -> Any:
    return select(secret_links).where(
        secret_links.c.environment_id == environment.id, secret_links.c.secret_id == secret_id
    )


def _find_secret(connection: Connection, environment: Row[Any], secret_id: str) -> Row[Any]:
    row = connection.execute(
        select(secrets).where(secrets.c.id == secret_id, secrets.c.environment_id == environment.id)
    ).one_or_none()
    if row is None:
        raise NotFound(f"Secret `{secret_id}` not found")
    return row


def _owner(connection: Connection, environment: Row[Any]) -> Row[Any]:
    return connection.execute(select(owners).where(owners.c.id == environment.owner_id)).one()


def _target(environment: Row[Any], name: str) -> str:
    return f"{environment.owner}/{environment.name} {name}"


# --- Variables ---


def list_variables(hub: Hub, caller: Caller, environment_id: str) -> list[EnvironmentVariable]:
    """The variables of an environment, by name; raises NotFound, NotAllowed."""
    with hub.database.read() as connection:
        environment = writable_environment(connection, caller, environment_id)
        rows = connection.execute(
            select(variables)
            .where(variables.c.environment_id == environment.id)
            .order_by(variables.c.name)
        )
        return [_shown(row) for row in rows]


def create_variable(
    hub: Hub, caller: Caller, environment_id: str, variable: NewVariable
) -> EnvironmentVariable:
    """Store a variable; raises Conflict if the environment has one of that name."""
    now = hub.now()
    with hub.database.write() as connection:
        environment = writable_environment(connection, caller, environment_id)
        own = variables.c.environment_id == environment.id
        require_free_name(connection, variables, variable.name, own)
        row = insert(variables).values(
            id=new_id("var"),
            environment_id=environment.id,
            name=variable.name,
            value=variable.value,
            description=variable.description,
            created_at=now,
            updated_at=now,
        )
        record(hub, connection, caller, "variable.create", _target(environment, variable.name))
        return _shown(connection.execute(row.returning(variables)).one())


def update_variable(
    hub: Hub, caller: Caller, environment_id: str, variable_id: str, change: VariableChange
) -> EnvironmentVariable:
    """Change what is given; raises NotFound, Conflict for a name that is taken."""
    with hub.database.write() as connection:
        environment, row = _find_variable(connection, caller, environment_id, variable_id)
        own = variables.c.environment_id == row.environment_id
        require_free_name(connection, variables, change.name or row.name, own, but=row.id)
        changed = update(variables).where(variables.c.id == row.id)
        changed = changed.values(changes_of(change, hub.now()))
        record(hub, connection, caller, "variable.update", _target(environment, row.name))
        return _shown(connection.execute(changed.returning(variables)).one())


def delete_variable(hub: Hub, caller: Caller, environment_id: str, variable_id: str) -> Done:
    """Delete a variable; raises NotFound."""
    with hub.database.write() as connection:
        environment, row = _find_variable(connection, caller, environment_id, variable_id)
        record(hub, connection, caller, "variable.delete", _target(environment, row.name))
        connection.execute(delete(variables).where(variables.c.id == row.id))
    return Done()


def _find_variable(
    connection: Connection, caller: Caller, environment_id: str, variable_id: str
) -> tuple[Row[Any], Row[Any]]:
    environment = writable_environment(connection, caller, environment_id)
    row = connection.execute(
        select(variables).where(
            variables.c.id == variable_id, variables.c.environment_id == environment.id
        )
    ).one_or_none()
    if row is None:
        raise NotFound(f"Variable `{variable_id}` not found")
    return environment, row


def _shown(row: Row[Any]) -> EnvironmentVariable:
    return EnvironmentVariable(
        row.id, row.name, row.value, row.description, row.created_at, row.updated_at
    )
