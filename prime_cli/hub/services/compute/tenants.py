"""What users and teams who are to be removed still rent, or once rented."""

from typing import Any

from sqlalchemy import Connection, Row, delete, or_, select, update

from prime_cli.core.errors import Conflict
from prime_cli.core.formatting import pluralize
from prime_cli.hub.db.tables import disks, pods


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
                hint=f"end that first: `prime {what}s terminate {rows[0].id}`, {who_ends}",
            )


def forget_rented(connection: Connection, owner_id: str) -> None:
    """Forget the pods and disks that a user once had; a team's stay with whoever made them."""
    for table in (pods, disks):
        connection.execute(delete(table).where(table.c.user_id == owner_id))
        of_team = update(table).where(table.c.team_id == owner_id)
        connection.execute(of_team.values(team_id=None))
