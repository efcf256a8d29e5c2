"""METADATA of published wheels on its own, which is all that a resolver needs (PEP 658)."""

from sqlalchemy import Connection, delete, insert, select

from prime_cli.core.digests import digest_bytes
from prime_cli.core.errors import NotFound
from prime_cli.core.refs import EnvRef
from prime_cli.hub.checks import CheckedMetadata
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import artifacts, versions, wheel_metadata
from prime_cli.hub.services.access import find_visible


def keep_metadata(connection: Connection, wheel_id: str, found: CheckedMetadata) -> None:
    """Keep the METADATA of a wheel that has passed the checks."""
    connection.execute(delete(wheel_metadata).where(wheel_metadata.c.wheel_id == wheel_id))
    connection.execute(
        insert(wheel_metadata).values(
            wheel_id=wheel_id,
            sha256=digest_bytes(found.body),
            requires_python=found.requires_python,
            body=found.body,
        )
    )


def select_metadata(connection: Connection, environment_id: str) -> dict[str, bytes]:
    """METADATA of every published wheel of an environment, by the wheel's filename."""
    rows = connection.execute(
        select(artifacts.c.filename, wheel_metadata.c.body)
        .join(artifacts, artifacts.c.id == wheel_metadata.c.wheel_id)
        .join(versions, versions.c.wheel_id == artifacts.c.id)
        .where(versions.c.environment_id == environment_id)
    )
    return {row.filename: bytes(row.body) for row in rows}


def get_metadata(hub: Hub, caller: Caller, ref: EnvRef, *, sha256: str, filename: str) -> bytes:
    """METADATA of the wheel with that digest and name, as it is in the wheel; raises NotFound."""
    with hub.database.read() as connection:
        environment = find_visible(connection, caller, ref)
        body = None
        if environment is not None:
            body = connection.execute(
                select(wheel_metadata.c.body)
                .join(artifacts, artifacts.c.id == wheel_metadata.c.wheel_id)
                .join(versions, versions.c.wheel_id == artifacts.c.id)
                .where(
                    artifacts.c.environment_id == environment.id,
                    artifacts.c.sha256 == sha256,
                    artifacts.c.filename == filename,
                )
            ).scalar()
    if body is None:
        raise NotFound(f"There is no metadata of `{filename}` here")
    return bytes(body)
