"""Copy somebody's environment to an owner, from where it goes its own way."""

from typing import Any

from sqlalchemy import Connection, Row, Table, insert, select

from prime_cli.core.errors import Conflict
from prime_cli.core.refs import LATEST, EnvRef
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import artifacts, locks, reports, versions, wheel_metadata
from prime_cli.hub.services.access import (
    find_environment,
    find_visible,
    require_owner_slug,
    require_user,
)
from prime_cli.hub.services.audit import record
from prime_cli.hub.services.index import refresh_index
from prime_cli.hub.services.owners import find_team
from prime_cli.hub.services.resolving import create_environment
from prime_cli.hub.services.versions import find_version, metadata_of, update_latest
from prime_cli.hub.tokens import new_id
from prime_cli.wire.codec import encode
from prime_cli.wire.environments import ForkReply, ForkRequest


def fork(hub: Hub, caller: Caller, ref: EnvRef, request: ForkRequest) -> ForkReply:
    """Copy the newest version; its bytes are shared. What is private stays private.

    Raises NotFound, NotAllowed, Conflict when the owner has an environment of that name.
    """
    require_user(caller)
    with hub.database.write() as connection:
        source = find_environment(connection, caller, ref)
        version = find_version(connection, source, LATEST)
        target = EnvRef(_owner(connection, caller, request), source.name)
        require_owner_slug(caller, target.owner, target.slug)
        if find_visible(connection, caller, target) is not None:
            raise Conflict(
                f"`{target.slug}` already exists",
                hint=f"see it with `prime env info {target.slug}`",
            )
        create_environment(hub, connection, target, source.visibility)
        made = find_environment(connection, caller, target)
        version_id = _copy_version(hub, connection, source, version, made)
        update_latest(hub, connection, made.id)
        record(hub, connection, caller, "environment.fork", target.slug, source=ref.slug)
    refresh_index(hub)
    return ForkReply(
        success=True,
        message=f"Forked {ref.slug}",
        environment_id=made.id,
        version_id=version_id,
        name=target.name,
        owner=target.owner,
        slug=target.slug,
    )


def _owner(connection: Connection, caller: Caller, request: ForkRequest) -> str:
    if request.team_id:
        return str(find_team(connection, request.team_id).slug)
    return request.team_slug or caller.slug


def _copy_version(
    hub: Hub, connection: Connection, source: Row[Any], version: Row[Any], made: Row[Any]
) -> str:
    origin = {
        "owner": source.owner,
        "name": source.name,
        "environment_id": source.id,
        "version_id": version.id,
        "version": version.semantic_version,
    }
    metadata = metadata_of(version)
    metadata.fork_chain = [*metadata.fork_chain, origin]
    metadata.origin = metadata.fork_chain[0]
    said = {"environment_id": made.id, "metadata": encode(metadata).decode()}
    sources_id, wheel_id = new_id("ver"), new_id("whl")
    _copy(connection, artifacts, "id", version.wheel_id, {"id": wheel_id, **said})
    _copy(connection, artifacts, "id", version.id, {"id": sources_id, **said})
    _copy(connection, wheel_metadata, "wheel_id", version.wheel_id, {"wheel_id": wheel_id})
    copied = {
        "id": sources_id,
        "environment_id": made.id,
        "wheel_id": wheel_id,
        "number": 1,
        "created_at": hub.now(),
    }
    _copy(connection, versions, "id", version.id, copied)
    for table in (locks, reports):
        _copy(connection, table, "version_id", version.id, {"version_id": sources_id})
    return sources_id


def _copy(
    connection: Connection, table: Table, key: str, value: str, changes: dict[str, Any]
) -> None:
    """Copy the row with that key, if there is one, with changes."""
    row = connection.execute(select(table).where(table.c[key] == value)).mappings().one_or_none()
    if row is not None:
        connection.execute(insert(table).values({**row, **changes}))
