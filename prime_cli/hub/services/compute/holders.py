"""Whose a new pod is, and who else will see it: their public keys open it."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from prime_cli.core.errors import NotAllowed, NotFound, UsageError
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import members
from prime_cli.hub.services.compute.access import ADMIN
from prime_cli.hub.services.owners import find_own_team, owner_id
from prime_cli.wire.pods import PodCreation


@dataclass(frozen=True)
class Holders:
    """The user of a pod, its team, and by their ids those members who see it when not all do."""

    user_id: str
    team_id: str | None = None
    shared: bool = False
    named: tuple[str, ...] = ()


def find_holders(hub: Hub, caller: Caller, creation: PodCreation) -> Holders:
    """Whose a pod is to be. Raises NotAllowed for a key that is not good for it, NotFound for a
    team or a member, UsageError for sharing without a team.
    """
    shared = creation.shared_with_team or creation.shared_in_camel
    named = tuple(dict.fromkeys([*creation.team_member_ids, *creation.members_in_camel]))
    if creation.team is None and (shared or named):
        raise UsageError("A pod is shared with a team, and none is named", hint="name the team")
    # An owner without accounts is made when it is first needed.
    with hub.database.write() as connection:
        user = owner_id(hub, connection, caller.slug)
        if creation.team is None:
            _require_may_rent(caller, caller.slug)
            return Holders(user)
        team = find_own_team(connection, caller, creation.team.team_id)
        _require_may_rent(caller, team.slug)
        _require_members(connection, team.id, named)
    return Holders(user, team.id, shared, named)


def list_holders(connection: Connection, holders: Holders) -> tuple[str, ...]:
    """The ids of all who will see the pod, its user first."""
    if holders.team_id is None:
        return (holders.user_id,)
    query = select(members.c.user_id).where(members.c.team_id == holders.team_id)
    if not holders.shared:
        query = query.where(members.c.role == ADMIN)
    of_team = connection.execute(query.order_by(members.c.user_id)).scalars()
    return tuple(dict.fromkeys([holders.user_id, *holders.named, *of_team]))


def _require_may_rent(caller: Caller, owner: str) -> None:
    if owner not in caller.writes:
        raise NotAllowed(
            f"This key may not rent pods for `{owner}`",
            hint="use one with the scope `write` that is good for it",
        )


def _require_members(connection: Connection, team_id: str, user_ids: Sequence[str]) -> None:
    inside = select(members.c.user_id).where(members.c.team_id == team_id)
    known = set(connection.execute(inside).scalars())
    for user_id in user_ids:
        if user_id not in known:
            raise NotFound(f"`{user_id[:80]}` is not in the team")
