"""Users of a hub, and the identity of the caller."""

from typing import Any

from sqlalchemy import Connection, Row, Select, delete, func, insert, select, update

from prime_cli.core.errors import Conflict, NotAllowed, NotFound, NotLoggedIn, UsageError
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.engine import read_page
from prime_cli.hub.db.tables import environments, evaluations, keys, members, owners
from prime_cli.hub.search_index import reindex_owner
from prime_cli.hub.services.access import (
    USER,
    check_email,
    check_label,
    check_slug,
    find_own_team,
    find_owner,
    require_free,
    require_unlimited,
    require_user,
    retire_slug,
)
from prime_cli.hub.services.audit import raise_serial, record
from prime_cli.hub.services.compute.access import forget_rented, require_nothing_rented
from prime_cli.hub.services.environments import forget_mirrored, forget_stars
from prime_cli.hub.services.keys import (
    ADMIN,
    count_keys,
    create_key,
    require_alive,
)
from prime_cli.hub.services.readmes import forget_readmes
from prime_cli.hub.tokens import new_id
from prime_cli.wire.accounts import Account, Permission, UserCreated, UserItem
from prime_cli.wire.queries import PageQuery

# --- Users ---


def create_user(
    hub: Hub,
    caller: Caller,
    slug: str,
    *,
    name: str = "",
    email: str | None = None,
    admin: bool = False,
    with_key: bool = False,
) -> UserCreated:
    """A new user; raises UsageError, Conflict ("already taken") or NotAllowed.

    `admin` lets the user administer the hub, with keys of the scope `admin`. `with_key` creates a
    first one, which ends with the caller's.
    """
    require_admin(caller)
    check_slug(slug)
    name = check_label(name, "name")
    if email is not None:
        check_email(email)
    forget_mirrored(hub, slug)
    with hub.database.write() as connection:
        user_id = add_user(
            hub, connection, caller, slug, name=name, email=email, admin=admin, may_reuse=True
        )
        key = _create_first_key(hub, connection, caller, user_id, slug) if with_key else None
        row = connection.execute(_select_items().where(owners.c.slug == slug)).one()
    return UserCreated(_item(row), key)


def _create_first_key(
    hub: Hub, connection: Connection, caller: Caller, user_id: str, slug: str
) -> str:
    parent = require_alive(hub, connection, caller)
    key = create_key(
        hub,
        connection,
        user_id,
        parent=parent,
        name="first key",
        scope=ADMIN,
        expires_at=parent.expires_at if parent is not None else None,
    )
    detail = {"scope": ADMIN, "name": "first key", "key": key.id, "line": key.line}
    record(hub, connection, caller, "key.create", slug, **detail)
    return key.key


def add_user(
    hub: Hub,
    connection: Connection,
    caller: Caller,
    slug: str,
    *,
    name: str = "",
    email: str | None = None,
    admin: bool,
    may_reuse: bool,
) -> str:
    """The id of a new user, whose values were checked; raises Conflict.

    With `may_reuse` the slug may be that of a user or team that was removed.
    """
    require_free(connection, slug, owner_id=None, admin=may_reuse)
    made = {"id": new_id(USER), "slug": slug, "type": USER, "name": name, "email": email}
    connection.execute(insert(owners).values(**made, admin=admin, created_at=hub.now()))
    record(hub, connection, caller, "user.create", slug, admin=admin)
    return str(made["id"])


def list_users(hub: Hub) -> list[UserItem]:
    """All users, by slug."""
    with hub.database.read() as connection:
        rows = connection.execute(_select_items().order_by(owners.c.slug)).all()
    return [_item(row) for row in rows]


def list_user_page(
    hub: Hub, caller: Caller, query: PageQuery
) -> tuple[list[tuple[UserItem, str | None]], int]:
    """One page of all users, each with why it is suspended, and the number of all.

    Raises NotAllowed.
    """
    require_admin(caller)
    with hub.database.read() as connection:
        rows, total = read_page(connection, _select_items(), owners.c.slug, query)
    return [(_item(row), row.suspended) for row in rows], total


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
        raise NotFound(f"User `{slug[:80]}` not found", hint="list them with `prime hub user list`")
    return row


def require_admin(caller: Caller) -> None:
    """Raise NotAllowed unless the caller may administer the whole hub."""
    if not caller.admin:
        raise NotAllowed(
            "Only an admin of this hub may do that",
            hint="an admin needs a key with the scope `admin`: `prime keys create --scope admin`",
        )


def require_accounts(hub: Hub) -> None:
    """Raise UsageError on the hub in the box, which has one user and no keys."""
    if not hub.settings.accounts:
        raise UsageError(
            "This hub has a single user and no API keys",
            hint="`prime hub serve` runs one with accounts",
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


# --- The caller ---

_KINDS = ("environments", "evaluations", "secrets")


def whoami(hub: Hub, caller: Caller, team_id: str | None = None) -> Account:
    """The user, and what the key may do as the user or, if given, as a team.

    Raises NotLoggedIn, and NotFound for a team that the key is not good for.
    """
    require_user(caller)
    if not hub.settings.accounts:
        return Account(id=f"local_{caller.slug}", name=caller.slug, slug=caller.slug)
    with hub.database.read() as connection:
        # A CI job acts for a team itself.
        team = find_owner(connection, caller.slug) if caller.publishes else None
        user = team or _row(connection, caller)
        acting = find_own_team(connection, caller, team_id).slug if team_id else caller.slug
    may = Permission(read=acting in caller.reads, write=acting in caller.writes)
    manages = acting in caller.manages
    return Account(
        id=user.id,
        # Official clients have texts here, never null.
        email=user.email or "",
        name=user.name or user.slug,
        slug=user.slug,
        scope={**dict.fromkeys(_KINDS, may), "keys": Permission(read=manages, write=manages)},
    )


def change_slug(hub: Hub, caller: Caller, slug: str) -> Account:
    """Rename the user; everything that the user has published moves along.

    It is at once found under the new name only, and the old one is given to nobody else. Raises
    UsageError, NotAllowed, and Conflict ("already taken").
    """
    require_user(caller)
    check_slug(slug)
    require_accounts(hub)
    require_unlimited(caller, "the name of its user")
    if caller.slug not in caller.writes:
        raise NotAllowed("This key is read-only", hint="use a key with the scope `write`")
    with hub.database.write() as connection:
        user = _row(connection, caller)
        if slug != user.slug:
            require_free(connection, slug, owner_id=user.id, admin=False)
            retire_slug(connection, user, becomes=slug)
            connection.execute(update(owners).where(owners.c.id == user.id).values(slug=slug))
            reindex_owner(connection, user.id)
            forget_readmes(connection, user.id)
            raise_serial(connection)
            record(hub, connection, caller, "user.rename", slug, was=user.slug)
    return Account(
        id=user.id, email=user.email or "", name=user.name or slug, slug=slug, scope=None
    )


def _row(connection: Connection, caller: Caller) -> Row[Any]:
    row = connection.execute(
        select(owners).where(owners.c.slug == caller.slug, owners.c.type == USER)
    ).one_or_none()
    if row is None:
        # Removed or renamed since the key was read.
        raise NotLoggedIn("This key no longer exists", hint="log in again")
    return row
