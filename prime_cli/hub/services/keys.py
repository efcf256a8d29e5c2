"""API keys: shown once, kept as digests, limited to a scope, an owner and a time."""

import contextlib
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any, Literal, get_args

from msgspec import Struct
from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    bindparam,
    func,
    insert,
    literal,
    select,
    update,
)

from prime_cli.core.errors import NotAllowed, NotLoggedIn, StorageFailed, Unreachable, UsageError
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import keys, members, owners
from prime_cli.hub.services.access import check_label
from prime_cli.hub.tokens import KEY_PREFIX, new_id, new_key, token_digest

# --- Parents and descendants ---
# A key may do no more than its parent and ends with it at the latest, so whoever has got hold of a
# key keeps nothing once it is revoked.

LONGEST_LINE = 32
"""Length of a chain of keys; SQLite cascades through at most 1,000 generations."""


def is_alive(hub: Hub) -> ColumnElement[bool]:
    """The condition for a row of `keys` to be valid: not expired, and of no suspended user."""
    suspended = select(owners.c.id).where(owners.c.suspended.is_not(None))
    in_time = keys.c.expires_at.is_(None) | (keys.c.expires_at > hub.now())
    return in_time & keys.c.user_id.not_in(suspended)


def require_alive(hub: Hub, connection: Connection, caller: Caller) -> Row[Any] | None:
    """The row of the caller's key, which may have ended since the request was admitted.

    None for callers without one. Raises NotLoggedIn.
    """
    if caller.key_id is None:
        return None
    row = connection.execute(
        select(keys).where(keys.c.id == caller.key_id, is_alive(hub))
    ).one_or_none()
    if row is None:
        raise NotLoggedIn(
            "This key was just revoked or has expired", hint="log in again, or use another key"
        )
    return row


def line_of(connection: Connection, key_id: str) -> list[str]:
    """The ids of the keys that led to this one, oldest first, and its own at the end."""
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
    """The line of `parent`, if it has room for one more key; raises NotAllowed."""
    line = line_of(connection, parent.id)
    if len(line) >= LONGEST_LINE:
        raise NotAllowed(
            f"This key is the last in a chain of {LONGEST_LINE}, each created with the one before",
            hint="use an earlier key of the chain",
        )
    return line


def descendants_of(connection: Connection, key_id: str) -> list[str]:
    """The ids of all keys created with this one, directly or not; they end with it."""
    line = select(keys.c.id).where(keys.c.parent_id == key_id).cte("line", recursive=True)
    line = line.union(select(keys.c.id).where(keys.c.parent_id == line.c.id))
    return [row.id for row in connection.execute(select(line.c.id).order_by(line.c.id))]


def count_keys(connection: Connection, user_id: str) -> int:
    """How many keys a user has."""
    held = select(func.count()).select_from(keys).where(keys.c.user_id == user_id)
    return connection.execute(held).scalar_one()


# --- Keys ---
# A key is looked up by its SHA-256, so how long an answer takes says nothing about how much of a
# guess was right.

Scope = Literal["read", "write", "admin"]
READ: Scope = "read"
WRITE: Scope = "write"
ADMIN: Scope = "admin"

_SHOWN = len(KEY_PREFIX) + 6
_USE_IS_NOTED_EVERY = 600
_LONGEST_LIFE = 100 * 366 * 24 * 3600


class NewKey(Struct, frozen=True):
    """A new key; `key` is in no table and cannot be retrieved again.

    `line` are the ids of the keys that led to it, its parent last.
    """

    id: str
    key: str
    line: tuple[str, ...] = ()


def create_key(
    hub: Hub,
    connection: Connection,
    user_id: str,
    *,
    parent: Row[Any] | None = None,
    name: str = "",
    scope: Scope = WRITE,
    only_owner_id: str | None = None,
    publishes: str | None = None,
    seconds: float | None = None,
    expires_at: str | None = None,
) -> NewKey:
    """A key of a user, for that user and all teams or for one owner only.

    One that `publishes` an environment of that owner (`*`: all of them) writes nothing else.
    It is valid forever, for some `seconds` or until `expires_at`. `parent` is the row of the key
    that creates it, None on the machine of the hub; it ends with its parent. Raises UsageError for
    an unprintable name or an invalid time, NotAllowed if it would do more or last longer than its
    parent.
    """
    if seconds is not None:
        if not 0 < seconds <= _LONGEST_LIFE:
            raise UsageError("The lifetime of a key must be positive and less than 100 years")
        expires_at = hub.after(seconds)
    if parent is not None:
        _require_no_more(parent, scope, only_owner_id, expires_at)
        if parent.publishes not in (None, publishes):
            raise NotAllowed("This key may only publish; it cannot create keys")
    line = require_room(connection, parent) if parent is not None else []
    made = NewKey(new_id("key"), new_key(), tuple(line))
    connection.execute(
        insert(keys).values(
            id=made.id,
            user_id=user_id,
            prefix=made.key[:_SHOWN],
            sha256=token_digest(made.key),
            name=check_label(name, "name of a key"),
            scope=scope,
            owner_id=only_owner_id,
            publishes=publishes,
            created_at=hub.now(),
            expires_at=expires_at,
            parent_id=parent.id if parent is not None else None,
        )
    )
    return made


def read_scope(text: str) -> Scope:
    """`text` as a scope; raises UsageError."""
    for scope in get_args(Scope):
        if text == scope:
            return READ if text == READ else WRITE if text == WRITE else ADMIN
    raise UsageError(f"`{text[:80]}` is not a scope", hint="write read, write or admin")


def find_caller(hub: Hub, key: str, *, address: str = "") -> Caller | None:
    """The caller that a key stands for; None if it is unknown or no longer valid.

    Records the key's use, at most once in ten minutes.
    """
    values = {"digest": token_digest(key), "now": hub.now()}
    with hub.database.read() as connection:
        rows = connection.execute(select_caller(), values).mappings().all()
    caller = read_caller(rows, address)
    if caller is not None and is_use_due(hub, rows):
        note_use(hub, rows[0]["id"])
    return caller


@cache
def select_caller() -> Select[Any]:
    """The rows for `read_caller`: a valid key with its user, once for each team of the user.

    Its parameters are `digest` and `now`. Cached, as every request with a key needs it.
    """
    return select_callers().where(keys.c.sha256 == bindparam("digest"))


def select_callers() -> Select[Any]:
    """The same for all valid keys: to choose one of them otherwise. Its parameter is `now`."""
    teams = owners.alias("teams")
    return (
        select(
            keys.c.id,
            keys.c.user_id,
            keys.c.scope,
            keys.c.owner_id,
            keys.c.publishes,
            keys.c.last_used_at,
            owners.c.slug,
            owners.c.admin,
            owners.c.suspended,
            members.c.team_id,
            members.c.role,
            teams.c.slug.label("team"),
        )
        .join(owners, keys.c.user_id == owners.c.id)
        .outerjoin(members, members.c.user_id == keys.c.user_id)
        .outerjoin(teams, members.c.team_id == teams.c.id)
        .where(keys.c.expires_at.is_(None) | (keys.c.expires_at > bindparam("now")))
    )


Rows = Sequence[Any]
"""Rows of `select_caller`, whose columns are read by name, as `row["slug"]`."""


def read_caller(rows: Rows, address: str) -> Caller | None:
    """Whom the rows speak for; None without any."""
    if not rows:
        return None
    key = rows[0]
    if key["suspended"] is not None:
        return Caller(address=address, suspended=key["suspended"])
    # The user's own role is `ADMIN`.
    roles = {key["user_id"]: (key["slug"], "ADMIN")}
    roles |= {row["team_id"]: (row["team"], row["role"]) for row in rows if row["team_id"]}
    if key["owner_id"] is not None:
        roles = {key["owner_id"]: roles[key["owner_id"]]} if key["owner_id"] in roles else {}
    everyone = frozenset(slug for slug, _ in roles.values())
    if key["publishes"] is not None:
        return Caller(
            slug=key["slug"],
            reads=everyone,
            publishes=frozenset(f"{slug}/{key['publishes']}" for slug in everyone),
            key_id=key["id"],
            address=address,
            limited=True,
        )
    managed = frozenset(slug for slug, role in roles.values() if role == "ADMIN")
    return Caller(
        slug=key["slug"],
        reads=everyone,
        writes=everyone if key["scope"] in (WRITE, ADMIN) else frozenset(),
        manages=managed if key["scope"] == ADMIN else frozenset(),
        admin=bool(key["admin"]) and key["scope"] == ADMIN and key["owner_id"] is None,
        key_id=key["id"],
        address=address,
        limited=key["owner_id"] is not None,
    )


def is_use_due(hub: Hub, rows: Rows) -> bool:
    """Whether the use of a key is to be noted."""
    last = rows[0]["last_used_at"]
    return last is None or last < hub.after(-_USE_IS_NOTED_EVERY)


def note_use(hub: Hub, key_id: str) -> None:
    """Remember when a key was used; reads must work even while nothing can be written."""
    with contextlib.suppress(StorageFailed, Unreachable), hub.database.write() as connection:
        connection.execute(update(keys).where(keys.c.id == key_id).values(last_used_at=hub.now()))


def seconds_until(hub: Hub, expires_at: str) -> float:
    """Seconds until a stored time; negative if it has passed."""
    return (datetime.fromisoformat(expires_at) - hub.settings.clock()).total_seconds()


def _require_no_more(
    parent: Row[Any], scope: Scope, only_owner_id: str | None, expires_at: str | None
) -> None:
    order = get_args(Scope)
    if order.index(scope) > order.index(parent.scope):
        raise NotAllowed(f"The new key would have the scope `{scope}`, more than this key")
    if parent.owner_id not in (None, only_owner_id):
        raise NotAllowed("The new key would cover more owners than this key")
    if parent.expires_at is not None and not (expires_at and expires_at <= parent.expires_at):
        raise NotAllowed(
            f"The new key would outlive this key, which expires at {parent.expires_at}"
        )
