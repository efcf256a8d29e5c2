"""Variables of an environment, which are no secrets: whoever may write it sees their values."""

from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from prime_cli.core.errors import NotFound
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import variables
from prime_cli.hub.services.audit import record
from prime_cli.hub.services.secrets.rows import (
    changes_of,
    require_free_name,
    writable_environment,
)
from prime_cli.hub.tokens import new_id
from prime_cli.wire.secrets import Done, NewVariable, Variable, VariableChange


def list_variables(hub: Hub, caller: Caller, environment_id: str) -> list[Variable]:
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
) -> Variable:
    """Keep a variable; raises Conflict when the environment has one of that name."""
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
) -> Variable:
    """Change what is given; raises NotFound, Conflict for a name that is taken."""
    with hub.database.write() as connection:
        environment, row = _find(connection, caller, environment_id, variable_id)
        own = variables.c.environment_id == row.environment_id
        require_free_name(connection, variables, change.name or row.name, own, but=row.id)
        changed = update(variables).where(variables.c.id == row.id)
        changed = changed.values(changes_of(change, hub.now()))
        record(hub, connection, caller, "variable.update", _target(environment, row.name))
        return _shown(connection.execute(changed.returning(variables)).one())


def delete_variable(hub: Hub, caller: Caller, environment_id: str, variable_id: str) -> Done:
    """Forget a variable; raises NotFound."""
    with hub.database.write() as connection:
        environment, row = _find(connection, caller, environment_id, variable_id)
        record(hub, connection, caller, "variable.delete", _target(environment, row.name))
        connection.execute(delete(variables).where(variables.c.id == row.id))
    return Done()


def _find(
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


def _target(environment: Row[Any], name: str) -> str:
    return f"{environment.owner}/{environment.name} {name}"


def _shown(row: Row[Any]) -> Variable:
    return Variable(row.id, row.name, row.value, row.description, row.created_at, row.updated_at)
