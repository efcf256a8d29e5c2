"""What is kept of owners of an upstream hub gives way to owners of this one."""

from sqlalchemy import delete, select

from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import environments, owners
from prime_cli.hub.services.environments import delete_environment
from prime_cli.hub.services.owners import UPSTREAM, find_owner


def mirror_caller(owner: str) -> Caller:
    """Who writes what an upstream owner has published."""
    its = frozenset({owner})
    return Caller("upstream", reads=its, writes=its)


def forget_mirrored(hub: Hub, slug: str) -> None:
    """Delete what is kept of the upstream owner `slug`, if there is one.

    Anybody can have an owner of the upstream kept here by asking for an environment, and must not
    take a name away from this hub by that.
    """
    with hub.database.read() as connection:
        owner = find_owner(connection, slug)
        if owner is None or owner.type != UPSTREAM:
            return
        kept = select(environments.c.id).where(environments.c.owner_id == owner.id)
        ids = connection.execute(kept).scalars().all()
    for environment_id in ids:
        delete_environment(hub, mirror_caller(slug), environment_id)
    with hub.database.write() as connection:
        connection.execute(delete(owners).where(owners.c.id == owner.id))
