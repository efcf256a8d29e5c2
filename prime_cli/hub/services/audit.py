"""The audit log: who did what to what, written in the transaction that does it."""

from typing import Any

from sqlalchemy import Connection, insert, select

from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import audit
from prime_cli.wire.audit import AuditEntry
from prime_cli.wire.codec import decode, encode


def record(
    hub: Hub, connection: Connection, caller: Caller, action: str, target: str, **detail: Any
) -> None:
    """Note that `caller` did `action` (as `version.publish`) to `target` (as `ada/word@1.2`).

    `detail` is kept as a JSON object, and must never hold a key, a token or a secret.
    """
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
    target: str | None = None,
    limit: int = 100,
) -> list[AuditEntry]:
    """The newest entries, newest first; `action` and `target` are what theirs begin with."""
    query = select(audit).order_by(audit.c.id.desc()).limit(limit)
    if actor is not None:
        query = query.where(audit.c.actor == actor)
    if action is not None:
        query = query.where(audit.c.action.startswith(action, autoescape=True))
    if target is not None:
        query = query.where(audit.c.target.startswith(target, autoescape=True))
    with hub.database.read() as connection:
        rows = connection.execute(query).all()
    return [
        AuditEntry(
            at=row.at,
            actor=row.actor,
            action=row.action,
            target=row.target,
            key_id=row.key_id,
            address=row.address,
            detail=decode(row.detail.encode(), dict[str, Any]),
        )
        for row in rows
    ]
