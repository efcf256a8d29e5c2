"""The audit log, and the serial number that every change of the catalogue raises."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, insert, select, text, update

from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import audit, counters, environments, owners
from prime_cli.hub.services.keys import require_alive
from prime_cli.wire.accounts import AuditEntry, AuditQuery
from prime_cli.wire.codec import decode, encode

_GRANTS = ("key.create", "login.approve")


def record(
    hub: Hub, connection: Connection, caller: Caller, action: str, target: str, **detail: Any
) -> None:
    """Record that `caller` does `action` (as `version.publish`) to `target` (as `ada/word@1.2`).

    `detail` is kept as a JSON object, and must never hold a key, a token or a secret. Raises
    NotLoggedIn if the caller's key has ended since the request was admitted: its changes are undone
    with the transaction.
    """
    require_alive(hub, connection, caller)
    note(hub, connection, caller, action, target, **detail)


def note(
    hub: Hub, connection: Connection, caller: Caller, action: str, target: str, **detail: Any
) -> None:
    """The same for what is already done and cannot be undone."""
    connection.execute(
        insert(audit).values(
            at=hub.now(),
            actor=caller.slug,
            key_id=caller.key_id,
            address=caller.address or None,
            action=action,
            target=target,
            detail=encode(detail).decode(),
        )
    )


def list_entries(
    hub: Hub,
    *,
    actor: str | None = None,
    action: str | None = None,
    key: str | None = None,
    target: str | None = None,
    limit: int = 100,
) -> list[AuditEntry]:
    """The newest entries, newest first; `action` and `target` are prefixes.

    For a `key`, also the entries of its line, even if it is revoked: those of keys that were
    created with it.
    """
    query = AuditQuery(actor, action, key, target, limit)
    return [_entry(row) for row in _read(hub, query, limit)]


def list_entries_before(
    hub: Hub, query: AuditQuery, before: int | None
) -> tuple[list[AuditEntry], int | None]:
    """A page of the log, and where the next one begins: the entries before that place."""
    rows = _read(hub, query, query.limit + 1, before)
    older = rows[query.limit - 1].id if len(rows) > query.limit else None
    return [_entry(row) for row in rows[: query.limit]], older


def _read(
    hub: Hub, filters: AuditQuery, limit: int, before: int | None = None
) -> Sequence[Row[Any]]:
    query = select(audit).order_by(audit.c.id.desc()).limit(limit)
    if before is not None:
        query = query.where(audit.c.id < before)
    if filters.user is not None:
        query = query.where(audit.c.actor == filters.user)
    if filters.action is not None:
        query = query.where(audit.c.action.startswith(filters.action, autoescape=True))
    if filters.target is not None:
        query = query.where(audit.c.target.startswith(filters.target, autoescape=True))
    with hub.database.read() as connection:
        if filters.key is not None:
            query = query.where(audit.c.key_id.in_(_line_in_log(connection, filters.key)))
        return connection.execute(query).all()


def _entry(row: Row[Any]) -> AuditEntry:
    return AuditEntry(
        at=row.at,
        actor=row.actor,
        action=row.action,
        target=row.target,
        key_id=row.key_id,
        address=row.address,
        detail=decode(row.detail.encode(), dict[str, Any]),
    )


def _line_in_log(connection: Connection, key: str) -> set[str]:
    """A key, and all that the log shows to have been created with it or with one of these."""
    made = select(audit.c.key_id, audit.c.detail).where(
        audit.c.action.in_(_GRANTS), audit.c.key_id.is_not(None)
    )
    line = {key}
    # In log order a key is created before it creates another.
    for row in connection.execute(made.order_by(audit.c.id)):
        if row.key_id in line:
            line.add(decode(row.detail.encode(), dict[str, Any]).get("key", key))
    return line


# --- A serial that increases with every change of the catalog or an index ---

CATALOGUE = "catalogue"
EVERYTHING = "everything"

_RAISE = text(
    "INSERT INTO counters (name, value) VALUES (:name, 1) "
    "ON CONFLICT (name) DO UPDATE SET value = counters.value + 1 RETURNING value"
)
_SET = text(
    "INSERT INTO counters (name, value) VALUES (:name, :value) "
    "ON CONFLICT (name) DO UPDATE SET value = :value"
)


def raise_serial(connection: Connection, environment_id: str | None = None) -> None:
    """Mark a change, within its transaction.

    With an `environment_id`, the change shows only on pages about that environment and its owner.
    The row must still exist.
    """
    value = connection.execute(_RAISE, {"name": CATALOGUE}).scalar_one()
    if environment_id is None:
        connection.execute(_SET, {"name": EVERYTHING, "value": value})
        return
    changed = environments.c.id == environment_id
    connection.execute(update(environments).where(changed).values(serial=value))
    owner = select(environments.c.owner_id).where(changed).scalar_subquery()
    connection.execute(update(owners).where(owners.c.id == owner).values(serial=value))


def read_serial(connection: Connection) -> int:
    """The current number; 0 on a hub where nothing was ever published."""
    value = connection.execute(select(counters.c.value).where(counters.c.name == CATALOGUE))
    return int(value.scalar() or 0)
