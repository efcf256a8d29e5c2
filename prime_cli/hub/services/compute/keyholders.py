"""Whose public keys open a new pod: the one that is named, or all of those who will see it."""

from collections.abc import Sequence

from sqlalchemy import Connection, select

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.hub.db.tables import members, ssh_keys

_ADMIN = "ADMIN"


def authorized_keys(
    connection: Connection,
    user_id: str,
    *,
    key_id: str | None,
    team_id: str | None,
    shared: bool,
    named: Sequence[str],
) -> tuple[str, ...]:
    """Public keys as OpenSSH writes them; raises NotFound for `key_id`, UsageError without any."""
    if key_id:
        query = select(ssh_keys.c.public_key).where(
            ssh_keys.c.id == key_id, ssh_keys.c.user_id == user_id
        )
        found = connection.execute(query).scalars().all()
        if not found:
            raise NotFound(
                f"SSH key `{key_id[:80]}` not found", hint="see yours with `prime ssh-keys list`"
            )
        return tuple(found)
    holders = {user_id, *named, *_of_team(connection, team_id, everybody=shared)}
    query = (
        select(ssh_keys.c.public_key)
        .where(ssh_keys.c.user_id.in_(sorted(holders)))
        .order_by(ssh_keys.c.created_at, ssh_keys.c.id)
    )
    found = connection.execute(query).scalars().all()
    if not found:
        raise UsageError(
            "There is no public key with which the pod could be reached",
            hint="add yours with `prime ssh-keys add`",
        )
    return tuple(dict.fromkeys(found))


def require_members(connection: Connection, team_id: str, user_ids: Sequence[str]) -> None:
    """Raise NotFound for the first of `user_ids` who is not in the team."""
    inside = select(members.c.user_id).where(members.c.team_id == team_id)
    known = set(connection.execute(inside).scalars())
    for user_id in user_ids:
        if user_id not in known:
            raise NotFound(f"`{user_id[:80]}` is not in the team")


def _of_team(connection: Connection, team_id: str | None, *, everybody: bool) -> set[str]:
    if team_id is None:
        return set()
    query = select(members.c.user_id).where(members.c.team_id == team_id)
    if not everybody:
        query = query.where(members.c.role == _ADMIN)
    return set(connection.execute(query).scalars())
