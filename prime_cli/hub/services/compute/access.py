"""Which pods and disks a caller sees, and which pods a caller may terminate."""

from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    Table,
    and_,
    delete,
    false,
    or_,
    select,
    true,
    update,
)

from prime_cli.core.errors import Conflict, NotAllowed, NotFound
from prime_cli.core.formatting import pluralize
from prime_cli.hub.context import Caller
from prime_cli.hub.db.tables import disks, members, owners, pod_members, pods
from prime_cli.hub.services.owners import TEAM

# --- Access ---
# A pod is seen by its user; one of a team by the team's admins too, by all members when it is
# shared, and by the members that it names. For everybody else it does not exist.

THE_HUB = Caller("hub", admin=True)
"""Who ends pods when nobody asks for it: no user can have that name."""

ADMIN = "ADMIN"


def select_pods() -> Select[Any]:
    """Rows of `pods` with `owner`, the slug of their user."""
    return select(pods, owners.c.slug.label("owner")).join(owners, pods.c.user_id == owners.c.id)


def is_live() -> ColumnElement[bool]:
    """The condition under which a pod is there, or on its way."""
    return pods.c.terminated_at.is_(None)


def visible_to(caller: Caller) -> ColumnElement[bool]:
    """The condition under which a caller sees a pod."""
    named = select(pod_members.c.pod_id).where(pod_members.c.user_id == _id_of(caller))
    for_members = or_(
        pods.c.shared, pods.c.team_id.in_(_teams_of(caller, ADMIN)), pods.c.id.in_(named)
    )
    return or_(
        is_of(pods, caller, caller.reads),
        and_(pods.c.team_id.in_(_slugs_to_teams(caller.reads)), for_members),
    )


def is_of(table: Table, caller: Caller, good_for: frozenset[str]) -> ColumnElement[bool]:
    """The condition under which a pod (or disk) is the caller's, for a key `good_for` some owners.

    Who has left a team still looks after what was made for it, with a key that is not limited.
    """
    teams = table.c.team_id.in_(_slugs_to_teams(good_for))
    mine = table.c.user_id == _id_of(caller)
    if caller.slug not in good_for:
        return and_(mine, teams)
    left = table.c.team_id.not_in(_teams_of(caller))
    return and_(mine, or_(table.c.team_id.is_(None), teams, left))


def disks_of(caller: Caller) -> ColumnElement[bool]:
    """The condition under which the caller sees a disk that is there."""
    teams = disks.c.team_id.in_(_slugs_to_teams(caller.reads))
    return and_(disks.c.terminated_at.is_(None), or_(is_of(disks, caller, caller.reads), teams))


def attachable_by(caller: Caller) -> ColumnElement[bool]:
    """The condition under which a disk that the caller sees may be given to a pod of the caller's.

    Who has left a team still sees to the disks that were made for it, and reads them no more.
    """
    return or_(disks.c.team_id.is_(None), disks.c.team_id.in_(_slugs_to_teams(caller.reads)))


def endable_by(caller: Caller) -> ColumnElement[bool]:
    """The condition under which a caller may end a pod; an admin of the hub may end all."""
    if caller.admin:
        return true()
    return or_(is_of(pods, caller, caller.writes), is_managed_by(pods, caller))


def is_managed_by(table: Table, caller: Caller) -> ColumnElement[bool]:
    """The condition under which a pod (or disk) is of a team whose admin the caller is, with a key
    that is good for writing there.
    """
    return and_(
        table.c.team_id.in_(_slugs_to_teams(caller.writes)),
        table.c.team_id.in_(_teams_of(caller, ADMIN)),
    )


def find_pod(connection: Connection, caller: Caller, pod_id: str) -> Row[Any]:
    """The row of a pod, of one that has ended too; raises NotFound."""
    query = select_pods().where(pods.c.id == pod_id, visible_to(caller))
    row = connection.execute(query).one_or_none()
    if row is None:
        raise _no_pod(pod_id)
    return row


def find_endable(connection: Connection, caller: Caller, pod_id: str) -> Row[Any]:
    """The same for somebody who may end it; raises NotFound or NotAllowed."""
    query = select_pods().where(pods.c.id == pod_id)
    row = connection.execute(query.where(endable_by(caller))).one_or_none()
    if row is None:
        seen = connection.execute(query.where(visible_to(caller))).one_or_none()
        if seen is None:
            raise _no_pod(pod_id)
        if not caller.writes:
            raise NotAllowed(
                "This key may not terminate pods", hint="use a key with the scope `write`"
            )
        raise NotAllowed(f"Only `{seen.owner}` and admins of the team may end `{seen.name}`")
    return row


def _no_pod(pod_id: str) -> NotFound:
    return NotFound(f"Pod `{pod_id[:80]}` not found", hint="list yours with `prime pods list`")


def _id_of(caller: Caller) -> ColumnElement[Any]:
    return select(owners.c.id).where(owners.c.slug == caller.slug).scalar_subquery()


def _slugs_to_teams(slugs: frozenset[str]) -> Select[Any]:
    if not slugs:
        return select(owners.c.id).where(false())
    return select(owners.c.id).where(owners.c.type == TEAM, owners.c.slug.in_(sorted(slugs)))


def _teams_of(caller: Caller, role: str | None = None) -> Select[Any]:
    query = select(members.c.team_id).where(members.c.user_id == _id_of(caller))
    return query if role is None else query.where(members.c.role == role)


# --- Removed users and teams ---


def require_nothing_rented(connection: Connection, owner: Row[Any]) -> None:
    """Raise Conflict while a user or team has pods or disks: nobody would be left to end them."""
    by_whom = f"with a key of `{owner.slug}`"
    for table, what, who_ends in (
        (pods, "pod", f"{by_whom} or of an admin of the hub"),
        (disks, "disk", by_whom),
    ):
        theirs = or_(table.c.user_id == owner.id, table.c.team_id == owner.id)
        query = select(table.c.id, table.c.name).where(theirs, table.c.terminated_at.is_(None))
        rows = connection.execute(query.order_by(table.c.created_at, table.c.id)).all()
        if rows:
            raise Conflict(
                f"`{owner.slug}` has {pluralize(len(rows), what)}, as `{rows[0].name}`",
                hint=f"terminate it first: `prime {what}s terminate {rows[0].id}`, {who_ends}",
            )


def forget_rented(connection: Connection, owner_id: str) -> None:
    """Forget the pods and disks that a user once had; a team's stay with whoever made them."""
    for table in (pods, disks):
        connection.execute(delete(table).where(table.c.user_id == owner_id))
        of_team = update(table).where(table.c.team_id == owner_id)
        connection.execute(of_team.values(team_id=None))
