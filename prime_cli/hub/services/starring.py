"""Stars: a user's mark on an environment, counted for all and listed for the user."""

from sqlalchemy import delete, exists, insert, select

from prime_cli.core.refs import EnvRef
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import stars
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
            raise_serial(connection, environment.id)
    return FinalizeReply(success=True)
