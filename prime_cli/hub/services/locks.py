"""The lock beside a version: what its isolated interpreter was resolved to."""

from sqlalchemy import delete, insert, select

from prime_cli.core.errors import IntegrityError, NotFound
from prime_cli.core.refs import EnvRef
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import locks
from prime_cli.hub.services.access import find_environment, require_owner
from prime_cli.hub.services.key_lines import require_alive
from prime_cli.hub.services.serial import raise_serial
from prime_cli.hub.services.versions import find_version
from prime_cli.wire.codec import decode, encode
from prime_cli.wire.locks import Lock


def get_lock(hub: Hub, caller: Caller, ref: EnvRef) -> Lock:
    """The lock of a version; raises NotFound when it has none."""
    with hub.database.read() as connection:
        environment = find_environment(connection, caller, ref)
        version = find_version(connection, environment, ref.wire_version)
        body = connection.execute(
            select(locks.c.body).where(locks.c.version_id == version.id)
        ).scalar()
    if body is None:
        raise NotFound(f"`{ref.slug}@{version.semantic_version}` has no lock")
    return decode(body.encode(), Lock)


def put_lock(hub: Hub, caller: Caller, ref: EnvRef, lock: Lock) -> Lock:
    """Keep the lock of a version, in place of an older one.

    Raises IntegrityError when it was made for another wheel, NotAllowed for somebody else's.
    """
    with hub.database.write() as connection:
        require_alive(hub, connection, caller)
        environment = find_environment(connection, caller, ref)
        require_owner(caller, environment)
        version = find_version(connection, environment, ref.wire_version)
        if lock.wheel_sha256 != version.wheel_sha256:
            raise IntegrityError(
                f"The lock is of another wheel than `{ref.slug}@{version.semantic_version}`"
            )
        connection.execute(delete(locks).where(locks.c.version_id == version.id))
        connection.execute(
            insert(locks).values(
                version_id=version.id, body=encode(lock).decode(), updated_at=hub.now()
            )
        )
        raise_serial(connection, environment.id)
    return lock
