"""Who will see a new pod, whose public keys open it."""

from collections.abc import Sequence

from sqlalchemy import Connection, select

from prime_cli.core.errors import NotFound
from prime_cli.hub.db.tables import members
from prime_cli.hub.services.compute.access import ADMIN


def find_holders(
    connection: Connection, user_id: str, team_id: str | None, named: Sequence[str], *, shared: bool
) -> tuple[str, ...]:
    """The ids of those who will see a pod, its user first; `named` are members of the team."""
    if team_id is None:
        return (user_id,)
    query = select(members.c.user_id).where(members.c.team_id == team_id)
    if not shared:
        query = query.where(members.c.role == ADMIN)
    of_team = connection.execute(query.order_by(members.c.user_id)).scalars()
    return tuple(dict.fromkeys([user_id, *named, *of_team]))


def require_members(connection: Connection, team_id: str, user_ids: Sequence[str]) -> None:
    """Raise NotFound for the first of `user_ids` who is not in the team."""
    inside = select(members.c.user_id).where(members.c.team_id == team_id)
    known = set(connection.execute(inside).scalars())
    for user_id in user_ids:
        if user_id not in known:
            raise NotFound(f"`{user_id[:80]}` is not in the team")
