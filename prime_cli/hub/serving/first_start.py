"""The first start of a hub: somebody must be able to let the others in."""

from sqlalchemy import exists, insert, select

from prime_cli.core.errors import Conflict
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import owners
from prime_cli.hub.services.audit import record
from prime_cli.hub.services.keys import ADMIN, create_key
from prime_cli.hub.services.names import check_slug
from prime_cli.hub.services.owners import USER, find_owner
from prime_cli.hub.tokens import new_id


def make_admin(hub: Hub, slug: str) -> str | None:
    """Make the user `slug` an admin with a key, and return the key; None when there is an admin.

    Of several processes that start at once on one database, one gets a key. Raises Conflict when
    the name belongs to somebody else, UsageError for one that no user may have.
    """
    check_slug(slug)
    with hub.database.write() as connection:
        if connection.execute(select(exists().where(owners.c.admin))).scalar_one():
            return None
        if find_owner(connection, slug) is not None:
            raise Conflict(
                f"This hub has no admin, and `{slug}` is somebody else",
                hint="name another with `--admin NAME`",
            )
        user_id = new_id("user")
        connection.execute(
            insert(owners).values(
                id=user_id, slug=slug, type=USER, admin=True, created_at=hub.now()
            )
        )
        made = create_key(hub, connection, user_id, name="first start", scope=ADMIN)
        operator = Caller.operator()
        record(hub, connection, operator, "user.create", slug, admin=True)
        record(hub, connection, operator, "key.create", slug, key=made.id, scope=ADMIN)
        return made.key
