"""Users of a hub: made and removed by its admins."""

from typing import Any

from sqlalchemy import Connection, Row, Select, delete, func, insert, select

from prime_cli.core.errors import Conflict, NotAllowed, NotFound, UsageError
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import environments, evaluations, keys, members, owners
from prime_cli.hub.services.audit import record
from prime_cli.hub.services.compute.tenants import forget_rented, require_nothing_rented
from prime_cli.hub.services.key_lines import count_keys
from prime_cli.hub.services.mirrored import forget_mirrored
from prime_cli.hub.services.names import (
    check_email,
    check_label,
    check_slug,
    require_free,
    retire_slug,
)
from prime_cli.hub.services.owners import USER
from prime_cli.hub.services.starring import forget_stars
from prime_cli.hub.tokens import new_id
from prime_cli.wire.accounts import UserItem


def create_user(
    hub: Hub,
    caller: Caller,
    slug: str,
    *,
    name: str = "",
    email: str | None = None,
    admin: bool = False,
) -> UserItem:
    """A new user, without a key yet; raises UsageError, Conflict ("already taken") or NotAllowed.

    `admin` lets the user look after the hub, with keys of the scope `admin`.
    """
    require_admin(caller)
    check_slug(slug)
    name = check_label(name, "name")
    if email is not None:
        check_email(email)
    forget_mirrored(hub, slug)
    with hub.database.write() as connection:
        require_free(connection, slug, owner_id=None, admin=True)
        made = insert(owners).values(
            id=new_id(USER),
            slug=slug,
            type=USER,
            name=name,
            email=email,
            admin=admin,
            created_at=hub.now(),
        )
        connection.execute(made)
        record(hub, connection, caller, "user.create", slug, admin=admin)
        return _item(connection.execute(_select_items().where(owners.c.slug == slug)).one())


def list_users(hub: Hub) -> list[UserItem]:
    """All users, by slug."""
    with hub.database.read() as connection:
        rows = connection.execute(_select_items().order_by(owners.c.slug)).all()
    return [_item(row) for row in rows]


def remove_user(hub: Hub, caller: Caller, slug: str) -> None:
    """Remove a user with all keys and memberships, at once.

    Raises Conflict while the user owns anything that is published, which would vanish for everybody
    who depends on it, or rents anything, which nobody would end.
    """
    require_admin(caller)
    with hub.database.write() as connection:
        user = find_user(connection, slug)
        require_nothing_owned(
            connection,
            user,
            hint="delete that first, with a key of that user; to only keep the user out, run "
            f"`prime hub token remove --user {slug}`",
        )
        revoked = count_keys(connection, user.id)
        record(hub, connection, caller, "user.remove", slug, keys_revoked=revoked)
        remove_owner(connection, user)


def find_user(connection: Connection, slug: str) -> Row[Any]:
    """The row of a user; raises NotFound."""
    row = connection.execute(
        select(owners).where(owners.c.slug == slug, owners.c.type == USER)
    ).one_or_none()
    if row is None:
        raise NotFound(f"User `{slug[:80]}` not found", hint="see them with `prime hub user list`")
    return row


def require_admin(caller: Caller) -> None:
    """Raise NotAllowed unless the caller may look after the whole hub."""
    if not caller.admin:
        raise NotAllowed("Only an admin of this hub may do that")


def require_accounts(hub: Hub) -> None:
    """Raise UsageError on the hub in the box, which has one user and no keys."""
    if not hub.settings.accounts:
        raise UsageError(
            "This hub has one user and no keys", hint="one with accounts runs by `prime hub serve`"
        )


def require_nothing_owned(connection: Connection, owner: Row[Any], *, hint: str) -> None:
    """Raise Conflict while a user or team owns environments or evaluations, or rents machines."""
    require_nothing_rented(connection, owner)
    for table, what in ((environments, "environment"), (evaluations, "evaluation")):
        owned = select(func.count()).where(table.c.owner_id == owner.id)
        count = connection.execute(owned).scalar_one()
        if count:
            one = select(table.c.name).where(table.c.owner_id == owner.id).order_by(table.c.name)
            named = connection.execute(one.limit(1)).scalar_one()
            raise Conflict(
                f"`{owner.slug}` owns {count} {what}{'s' if count > 1 else ''}, as `{named}`",
                hint=hint,
            )


def remove_owner(connection: Connection, owner: Row[Any]) -> None:
    """Delete a user or team; the slug is kept from all but admins."""
    retire_slug(connection, owner)
    forget_stars(connection, owner.id)
    forget_rented(connection, owner.id)
    connection.execute(delete(owners).where(owners.c.id == owner.id))


def _select_items() -> Select[Any]:
    key_count = select(func.count()).where(keys.c.user_id == owners.c.id).scalar_subquery()
    team_count = select(func.count()).where(members.c.user_id == owners.c.id).scalar_subquery()
    return select(owners, key_count.label("key_count"), team_count.label("team_count")).where(
        owners.c.type == USER
    )


def _item(row: Row[Any]) -> UserItem:
    return UserItem(
        slug=row.slug,
        id=row.id,
        name=row.name,
        email=row.email,
        admin=bool(row.admin),
        teams=row.team_count,
        keys=row.key_count,
        created_at=row.created_at,
    )
