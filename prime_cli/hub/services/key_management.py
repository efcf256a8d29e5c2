"""A user's API keys: list, create, revoke."""

from typing import Any

from sqlalchemy import Connection, Row, Select, delete, exists, select

from prime_cli.core.errors import NotAllowed, NotFound
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import identities, keys, members, owners
from prime_cli.hub.services.access import require_user
from prime_cli.hub.services.audit import record
from prime_cli.hub.services.keys import (
    NewKey,
    count_keys,
    create_key,
    descendants_of,
    read_scope,
    require_alive,
)
from prime_cli.hub.services.users import find_user, require_accounts, require_admin
from prime_cli.wire.accounts import KeyItem

CURRENT = "current"

_only = owners.alias("only")


def issue_key(
    hub: Hub,
    caller: Caller,
    user: str,
    *,
    name: str = "",
    scope: str = "write",
    owner: str | None = None,
    seconds: float | None = None,
) -> NewKey:
    """A new key of `user`, made by that user with a key of the scope `admin`, or on this machine.

    It is valid for the one `owner`, if given: the user or a team that the user is in. It may do no
    more, and lasts no longer, than the key it is made with, and is revoked with that one. Raises
    NotAllowed, NotLoggedIn, NotFound or UsageError.
    """
    wanted = read_scope(scope)
    require_accounts(hub)
    if not caller.operates and not (user == caller.slug and user in caller.manages):
        raise NotAllowed("This key may not create keys", hint="use a key with the scope `admin`")
    with hub.database.write() as connection:
        row = find_user(connection, user)
        made = create_key(
            hub,
            connection,
            row.id,
            parent=require_alive(hub, connection, caller),
            name=name,
            scope=wanted,
            only_owner_id=_find_owner_of(connection, row, owner) if owner else None,
            seconds=seconds,
        )
        detail = {"scope": wanted, "owner": owner, "name": name, "line": made.line}
        record(hub, connection, caller, "key.create", user, key=made.id, **detail)
    return made


def list_keys(hub: Hub, caller: Caller, user: str | None = None) -> list[KeyItem]:
    """The keys of `user`, or of all, newest first.

    Without the scope `admin` a key sees only itself; other users' keys are for admins.
    """
    require_user(caller)
    query = _select_keys().order_by(keys.c.created_at.desc(), keys.c.id)
    if user is not None:
        query = query.where(owners.c.slug == user)
    if not caller.admin and caller.slug in caller.manages:
        query = query.where(owners.c.slug == caller.slug)
    elif not caller.admin:
        query = query.where(keys.c.id == caller.key_id)
    with hub.database.read() as connection:
        rows = connection.execute(query).all()
    return [_key_item(row, caller) for row in rows]


def revoke_key(hub: Hub, caller: Caller, key_id: str) -> list[str]:
    """Revoke a key: by its id, or `current` for the caller's.

    Its descendants are revoked too; returns the ids of all, its own first.

    Every key may revoke itself, one of the scope `admin` all of its user, an admin of the hub
    anybody's, and on this machine the first characters do too. Raises NotFound.
    """
    require_user(caller)
    require_accounts(hub)
    wanted = caller.key_id if key_id == CURRENT else key_id
    with hub.database.write() as connection:
        row = connection.execute(_select_keys().where(keys.c.id == wanted)).one_or_none()
        if row is None and caller.operates:
            row = _find_by_prefix(connection, key_id)
        if row is None or not _may_revoke(caller, row):
            raise NotFound(
                f"Key `{key_id[:80]}` not found", hint="list keys with `prime hub token list`"
            )
        line = descendants_of(connection, row.id)
        detail = {"key": row.id, "name": row.name, "made_with_it": line}
        record(hub, connection, caller, "key.revoke", row.user, **detail)
        connection.execute(delete(keys).where(keys.c.id == row.id))
    return [row.id, *line]


def revoke_all(hub: Hub, caller: Caller, user: str) -> int:
    """Revoke every key of a user; returns how many there were. Raises NotFound or NotAllowed.

    The user's identities at a provider go too, as each sign-in would make another key.
    """
    require_admin(caller)
    with hub.database.write() as connection:
        row = find_user(connection, user)
        count = count_keys(connection, row.id)
        record(hub, connection, caller, "key.revoke", user, keys_revoked=count)
        connection.execute(delete(keys).where(keys.c.user_id == row.id))
        connection.execute(delete(identities).where(identities.c.user_id == row.id))
    return count


def _find_owner_of(connection: Connection, user: Row[Any], owner: str) -> str:
    belongs = exists().where(members.c.team_id == owners.c.id, members.c.user_id == user.id)
    found = connection.execute(
        select(owners.c.id).where(owners.c.slug == owner, (owners.c.id == user.id) | belongs)
    ).scalar()
    if found is None:
        raise NotFound(
            f"`{owner[:80]}` is neither `{user.slug}` nor a team of that user",
            hint="list the teams with `prime teams list`",
        )
    return str(found)


def _find_by_prefix(connection: Connection, prefix: str) -> Row[Any] | None:
    rows = connection.execute(_select_keys().where(keys.c.prefix == prefix).limit(2)).all()
    return rows[0] if len(rows) == 1 else None


def _may_revoke(caller: Caller, key: Row[Any]) -> bool:
    own = key.user == caller.slug and caller.slug in caller.manages
    return caller.admin or own or key.id == caller.key_id


def _select_keys() -> Select[Any]:
    return (
        select(keys, owners.c.slug.label("user"), _only.c.slug.label("only"))
        .join(owners, keys.c.user_id == owners.c.id)
        .outerjoin(_only, keys.c.owner_id == _only.c.id)
    )


def _key_item(row: Row[Any], caller: Caller) -> KeyItem:
    return KeyItem(
        id=row.id,
        user=row.user,
        prefix=row.prefix,
        name=row.name,
        scope=row.scope,
        created_at=row.created_at,
        owner=row.only,
        expires_at=row.expires_at,
        parent=row.parent_id,
        publishes=f"{row.only}/{row.publishes}" if row.publishes is not None else None,
        last_used_at=row.last_used_at,
        current=row.id == caller.key_id,
    )
