"""Lines of keys: each with the one that it was made with, back to one that was made on the hub.

A key may do no more than its parent and ends with it at the latest, so whoever has got hold of a
key keeps nothing once it is revoked.
"""

from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, func, literal, select

from prime_cli.core.errors import NotAllowed, NotLoggedIn
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import keys

LONGEST_LINE = 32
"""Keys one after the other; SQLite takes along no more than 1,000 generations at once."""


def is_alive(hub: Hub) -> ColumnElement[bool]:
    """The condition under which a row of `keys` opens anything."""
    return keys.c.expires_at.is_(None) | (keys.c.expires_at > hub.now())


def require_alive(hub: Hub, connection: Connection, caller: Caller) -> Row[Any] | None:
    """The row of the key that asks, which may have ended since the request was let in.

    None for whoever asks without one. Raises NotLoggedIn.
    """
    if caller.key_id is None:
        return None
    row = connection.execute(
        select(keys).where(keys.c.id == caller.key_id, is_alive(hub))
    ).one_or_none()
    if row is None:
        raise NotLoggedIn(
            "This key has just been revoked, or has expired", hint="log in again, or use another"
        )
    return row


def line_of(connection: Connection, key_id: str) -> list[str]:
    """The ids of the keys that led to this one, the first of them first, and its own at the end."""
    line = (
        select(keys.c.id, keys.c.parent_id, literal(0).label("back"))
        .where(keys.c.id == key_id)
        .cte("line", recursive=True)
    )
    line = line.union_all(
        select(keys.c.id, keys.c.parent_id, line.c.back + 1).where(keys.c.id == line.c.parent_id)
    )
    found = connection.execute(select(line.c.id).order_by(line.c.back.desc()))
    return [row.id for row in found]


def require_room(connection: Connection, parent: Row[Any]) -> list[str]:
    """The line of `parent`, if one more key may follow in it; raises NotAllowed."""
    line = line_of(connection, parent.id)
    if len(line) >= LONGEST_LINE:
        raise NotAllowed(
            f"This key is the last of {LONGEST_LINE} that were made one with the other",
            hint="use an earlier one of them",
        )
    return line


def descendants_of(connection: Connection, key_id: str) -> list[str]:
    """The ids of the keys that were made with this one, and with those; they go when it goes."""
    line = select(keys.c.id).where(keys.c.parent_id == key_id).cte("line", recursive=True)
    line = line.union(select(keys.c.id).where(keys.c.parent_id == line.c.id))
    return [row.id for row in connection.execute(select(line.c.id).order_by(line.c.id))]


def count_keys(connection: Connection, user_id: str) -> int:
    """How many keys a user has."""
    held = select(func.count()).select_from(keys).where(keys.c.user_id == user_id)
    return connection.execute(held).scalar_one()
