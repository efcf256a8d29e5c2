"""Who a caller is, and under which name."""

from typing import Any

from sqlalchemy import Connection, Row, select, update

from prime_cli.core.errors import NotAllowed, NotLoggedIn
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import owners
from prime_cli.hub.listings import list_owner_anew
from prime_cli.hub.services.access import require_user
from prime_cli.hub.services.audit import record
from prime_cli.hub.services.names import check_slug, require_free, retire_slug
from prime_cli.hub.services.owners import USER, find_own_team
from prime_cli.hub.services.serial import raise_serial
from prime_cli.hub.services.users import require_accounts
from prime_cli.wire.accounts import Account, Permission

_KINDS = ("environments", "evaluations", "secrets")


def whoami(hub: Hub, caller: Caller, team_id: str | None = None) -> Account:
    """The user, and what the key may do as the user or, if given, as a team.

    Raises NotLoggedIn, and NotFound for a team that the key is not good for.
    """
    require_user(caller)
    if not hub.settings.accounts:
        return Account(id=f"local_{caller.slug}", name=caller.slug, slug=caller.slug)
    with hub.database.read() as connection:
        user = _row(connection, caller)
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
    """Call the user by another name; everything that the user has published goes along.

    It is found under the new name at once and under the old one no more, and the old one is given
    to nobody else. Raises UsageError, NotAllowed, and Conflict ("already taken").
    """
    require_user(caller)
    check_slug(slug)
    require_accounts(hub)
    if caller.slug not in caller.writes:
        raise NotAllowed("This key may only read", hint="use one with the scope `write`")
    with hub.database.write() as connection:
        user = _row(connection, caller)
        if slug != user.slug:
            require_free(connection, slug, owner_id=user.id, admin=False)
            retire_slug(connection, user, becomes=slug)
            connection.execute(update(owners).where(owners.c.id == user.id).values(slug=slug))
            list_owner_anew(connection, user.id)
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
        raise NotLoggedIn("This key is not known any more", hint="log in again")
    return row
