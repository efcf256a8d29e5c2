"""API keys: shown once, kept as digests, good for a scope and a time."""

from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, Row, insert, or_, select

from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import keys, members, owners
from prime_cli.hub.tokens import KEY_PREFIX, new_id, new_key, token_digest

Scope = Literal["read", "write", "admin"]
READ: Scope = "read"
WRITE: Scope = "write"
ADMIN: Scope = "admin"

_SHOWN = len(KEY_PREFIX) + 6


@dataclass(frozen=True)
class NewKey:
    """A key that was just made; `key` is in no table and cannot be had again."""

    id: str
    key: str


def create_key(
    hub: Hub,
    connection: Connection,
    user_id: str,
    *,
    name: str = "",
    scope: Scope = WRITE,
    only_owner_id: str | None = None,
    seconds: float | None = None,
) -> NewKey:
    """A key of a user, for that user and all teams or for one owner only, for ever or a while."""
    made = NewKey(new_id("key"), new_key())
    connection.execute(
        insert(keys).values(
            id=made.id,
            user_id=user_id,
            prefix=made.key[:_SHOWN],
            sha256=token_digest(made.key),
            name=name,
            scope=scope,
            owner_id=only_owner_id,
            created_at=hub.now(),
            expires_at=None if seconds is None else hub.after(seconds),
        )
    )
    return made


def find_caller(hub: Hub, key: str) -> Caller | None:
    """Whom a key speaks for; None when it is not known, or no more."""
    with hub.database.read() as connection:
        row = connection.execute(
            select(keys, owners.c.slug, owners.c.admin)
            .join(owners, keys.c.user_id == owners.c.id)
            .where(
                keys.c.sha256 == token_digest(key),
                or_(keys.c.expires_at.is_(None), keys.c.expires_at > hub.now()),
            )
        ).one_or_none()
        if row is None:
            return None
        return _caller(row, _roles(connection, row))


def _roles(connection: Connection, key: Row[Any]) -> dict[str, str]:
    """The role that the key has with each owner, by slug; the user's own is `ADMIN`."""
    teams = (
        select(owners.c.id, owners.c.slug, members.c.role)
        .join(members, members.c.team_id == owners.c.id)
        .where(members.c.user_id == key.user_id)
    )
    roles = {row.id: (row.slug, row.role) for row in connection.execute(teams)}
    roles[key.user_id] = (key.slug, "ADMIN")
    return {
        slug: role for owner_id, (slug, role) in roles.items() if key.owner_id in (None, owner_id)
    }


def _caller(key: Row[Any], roles: dict[str, str]) -> Caller:
    everyone = frozenset(roles)
    managed = frozenset(slug for slug, role in roles.items() if role == "ADMIN")
    return Caller(
        slug=key.slug,
        reads=everyone,
        writes=everyone if key.scope in (WRITE, ADMIN) else frozenset(),
        manages=managed if key.scope == ADMIN else frozenset(),
        admin=bool(key.admin) and key.scope == ADMIN,
        key_id=key.id,
    )
