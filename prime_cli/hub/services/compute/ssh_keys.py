"""SSH public keys of users, which grant access to their pods."""

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, select, update

from prime_cli.core.errors import Conflict, NotAllowed, NotFound, UsageError
from prime_cli.core.ssh_keys import read_public_key
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import ssh_keys
from prime_cli.hub.services.access import require_user
from prime_cli.hub.services.audit import record
from prime_cli.hub.services.owners import check_label, find_owner, owner_id
from prime_cli.wire.queries import PageQuery
from prime_cli.wire.ssh_keys import KeyChange, KeyChanged, KeyUpload, SshKey, SshKeyPage

MOST_KEYS = 100

_NEWEST_FIRST = (ssh_keys.c.created_at.desc(), ssh_keys.c.id)


def list_keys(hub: Hub, caller: Caller, query: PageQuery) -> SshKeyPage:
    """One page of the caller's keys, the primary one first, then the newest; raises NotAllowed."""
    _require_own(caller, writing=False)
    with hub.database.read() as connection:
        mine = _of(connection, caller)
        order = (ssh_keys.c.is_primary.desc(), *_NEWEST_FIRST)
        rows = connection.execute(
            select(ssh_keys).where(mine).order_by(*order).offset(query.offset).limit(query.limit)
        ).all()
        total = connection.execute(select(func.count()).where(mine)).scalar_one()
    return SshKeyPage([_shown(row) for row in rows], total, query.offset, query.limit)


def add_key(hub: Hub, caller: Caller, upload: KeyUpload) -> SshKey:
    """Let a key open the caller's pods; the first one is the primary one.

    Raises UsageError for what is no key to be let in with, and Conflict for one that is there
    already or one too many.
    """
    _require_own(caller, writing=True)
    key = read_public_key(upload.public_key)
    name = check_label(upload.name, "name of a key") or key.comment[:50] or key.fingerprint
    with hub.database.write() as connection:
        user_id = owner_id(hub, connection, caller.slug)
        mine = ssh_keys.c.user_id == user_id
        known = connection.execute(select(ssh_keys).where(mine)).all()
        for row in known:
            if row.fingerprint == key.fingerprint:
                raise Conflict(f"This key is there already, as `{row.name}`")
        if len(known) >= MOST_KEYS:
            raise Conflict(
                f"A user has at most {MOST_KEYS} keys",
                hint="remove one with `prime ssh-keys remove`",
            )
        now = hub.now()
        values = {"id": str(uuid4()), "user_id": user_id, "name": name, "public_key": key.line}
        row = connection.execute(
            insert(ssh_keys)
            .values(
                **values,
                fingerprint=key.fingerprint,
                is_primary=not known,
                created_at=now,
                updated_at=now,
            )
            .returning(ssh_keys)
        ).one()
        record(hub, connection, caller, "ssh_key.add", f"{caller.slug} {key.fingerprint}")
    return _shown(row)


def change_key(hub: Hub, caller: Caller, key_id: str, change: KeyChange) -> KeyChanged:
    """Make a key the primary one, in place of the one that is; raises NotFound, UsageError."""
    _require_own(caller, writing=True)
    if change.is_primary is False:
        raise UsageError("`isPrimary` can only be true", hint="make another key the primary one")
    with hub.database.write() as connection:
        row = _find(connection, caller, key_id)
        if not change.is_primary:
            return KeyChanged("Nothing to change")
        _make_primary(hub, connection, row)
        record(hub, connection, caller, "ssh_key.primary", f"{caller.slug} {row.fingerprint}")
    return KeyChanged("SSH key updated", {"isPrimary": True})


def remove_key(hub: Hub, caller: Caller, key_id: str) -> None:
    """Let a key open no pod that is made from now on; raises NotFound.

    Where it was the primary one, the newest of the others is that now.
    """
    _require_own(caller, writing=True)
    with hub.database.write() as connection:
        row = _find(connection, caller, key_id)
        connection.execute(delete(ssh_keys).where(ssh_keys.c.id == row.id))
        mine = ssh_keys.c.user_id == row.user_id
        newest = connection.execute(select(ssh_keys).where(mine).order_by(*_NEWEST_FIRST)).first()
        if row.is_primary and newest is not None:
            _make_primary(hub, connection, newest)
        record(hub, connection, caller, "ssh_key.remove", f"{caller.slug} {row.fingerprint}")


def keys_for(
    connection: Connection, user_ids: Sequence[str], key_id: str | None = None
) -> tuple[str, ...]:
    """The lines of `authorized_keys` for a pod: `TYPE BASE64`, each once and without a comment.

    Those of all users in `user_ids`, primary keys first; with `key_id` that key alone, which must
    be one of the first of them, who makes the pod. Raises NotFound where it is not, and UsageError
    where there is none at all.
    """
    wanted: ColumnElement[bool] = ssh_keys.c.user_id.in_(user_ids)
    if key_id is not None:
        wanted = (ssh_keys.c.id == key_id) & (ssh_keys.c.user_id == user_ids[0])
    order = (ssh_keys.c.is_primary.desc(), *_NEWEST_FIRST)
    rows = connection.execute(select(ssh_keys.c.public_key).where(wanted).order_by(*order)).all()
    if not rows and key_id is not None:
        raise _no_key(key_id)
    if not rows:
        raise UsageError(
            "You have no SSH key on this hub, so nobody could log in to the pod",
            hint="add one with `prime ssh-keys add`",
        )
    return tuple(dict.fromkeys(read_public_key(row.public_key).bare for row in rows))


def _require_own(caller: Caller, *, writing: bool) -> None:
    """Raise NotAllowed for an API key that is not good for its user, or not for writing."""
    require_user(caller)
    if caller.slug not in (caller.writes if writing else caller.reads):
        raise NotAllowed(
            f"This API key may not {'change' if writing else 'see'} SSH keys of `{caller.slug}`",
            hint="use a key with the scope `write` that is not limited to a team",
        )


def _of(connection: Connection, caller: Caller) -> ColumnElement[bool]:
    owner = find_owner(connection, caller.slug)
    return ssh_keys.c.user_id == (owner.id if owner is not None else "")


def _find(connection: Connection, caller: Caller, key_id: str) -> Row[Any]:
    row = connection.execute(
        select(ssh_keys).where(ssh_keys.c.id == key_id, _of(connection, caller))
    ).one_or_none()
    if row is None:
        raise _no_key(key_id)
    return row


def _no_key(key_id: str) -> NotFound:
    return NotFound(
        f"SSH key `{key_id[:80]}` not found", hint="list yours with `prime ssh-keys list`"
    )


def _make_primary(hub: Hub, connection: Connection, row: Row[Any]) -> None:
    mine = update(ssh_keys).where(ssh_keys.c.user_id == row.user_id)
    connection.execute(mine.where(ssh_keys.c.is_primary).values(is_primary=False))
    chosen = mine.where(ssh_keys.c.id == row.id)
    connection.execute(chosen.values(is_primary=True, updated_at=hub.now()))


def _shown(row: Row[Any]) -> SshKey:
    return SshKey(
        id=row.id,
        user_id=row.user_id,
        name=row.name,
        public_key=row.public_key,
        is_primary=bool(row.is_primary),
        created_at=row.created_at,
        updated_at=row.updated_at,
    )
