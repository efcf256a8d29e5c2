"""Stars: a user's mark on an environment, counted for all and listed for the user."""

from collections.abc import Sequence

from sqlalchemy import Connection, delete, exists, func, insert, select, update

from prime_cli.core.refs import EnvRef
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import environments, stars
from prime_cli.hub.services.access import find_environment, require_user
from prime_cli.hub.services.owners import owner_id
from prime_cli.hub.services.serial import raise_serial
from prime_cli.wire.environments import FinalizeReply


def set_star(hub: Hub, caller: Caller, ref: EnvRef, *, starred: bool) -> FinalizeReply:
    """Star an environment, or take the star back; done twice, it is as done once."""
    require_user(caller)
    with hub.database.write() as connection:
        environment = find_environment(connection, caller, ref)
        by = owner_id(hub, connection, caller.slug)
        mine = stars.c.owner_id == by, stars.c.environment_id == environment.id
        if connection.execute(select(exists().where(*mine))).scalar_one() is not starred:
            row = insert(stars).values(owner_id=by, environment_id=environment.id)
            connection.execute(row if starred else delete(stars).where(*mine))
            _count(connection, [environment.id])
            raise_serial(connection, environment.id)
    return FinalizeReply(success=True)


def forget_stars(connection: Connection, owner: str) -> None:
    """Take back all stars that the owner of that id has given."""
    given = stars.c.owner_id == owner
    rows = connection.execute(delete(stars).where(given).returning(stars.c.environment_id))
    _count(connection, [row.environment_id for row in rows])


def _count(connection: Connection, ids: Sequence[str]) -> None:
    """Copy how many stars environments have to where lists read it."""
    many = select(func.count()).where(stars.c.environment_id == environments.c.id)
    for each in ids:
        connection.execute(
            update(environments)
            .where(environments.c.id == each)
            .values(stars=many.scalar_subquery())
        )
