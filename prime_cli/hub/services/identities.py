"""Which users the identities of a provider are, and logins that they approve."""

import re
from typing import Any

from sqlalchemy import Connection, Row, Select, delete, insert, select, update

from prime_cli.core.errors import Conflict, NotAllowed, NotFound, NotLoggedIn, UsageError
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import former_slugs, identities, owners
from prime_cli.hub.identity.sign_in import Identity
from prime_cli.hub.services.access import (
    check_slug,
    require_own,
    require_unlimited,
    require_user,
    suspension,
)
from prime_cli.hub.services.audit import record
from prime_cli.hub.services.keys import find_caller, require_alive
from prime_cli.hub.services.logins import (
    MOST_FAILURES,
    approve_login_of,
    few_failures,
    place_of,
)
from prime_cli.hub.services.users import add_user, find_user, require_accounts, require_admin
from prime_cli.hub.tokens import token_digest
from prime_cli.wire.accounts import IdentityItem, IdentityList
from prime_cli.wire.secrets import Done

_LONGEST_SLUG = 30
_MOST_SUFFIXES = 1000


def find_user_of(hub: Hub, identity: Identity) -> str | None:
    """The slug of the user who has signed in before with this identity."""
    with hub.database.read() as connection:
        return _find(connection, identity)


def suggest_slug(hub: Hub, identity: Identity) -> str:
    """A free name for a new user, made from the provider's; `` if that has no letters."""
    base = re.sub(r"[^a-z0-9]+", "-", identity.username.partition("@")[0].lower()).strip("-")
    base = base[: _LONGEST_SLUG - 4].strip("-")
    with hub.database.read() as connection:
        for number in range(1, _MOST_SUFFIXES):
            slug = base if number == 1 else f"{base}-{number}"
            if _is_possible(slug) and _is_free(connection, slug):
                return slug
    return ""


def create_user_of(hub: Hub, address: str, identity: Identity, slug: str) -> str:
    """A new user of that name for an identity that is nobody's yet; returns the slug.

    Raises NotAllowed where nobody may sign up, Conflict for a name that is or was somebody's,
    UsageError.
    """
    if hub.settings.sign_in is None or not hub.settings.sign_in.sign_up:
        raise NotAllowed(
            "New users cannot sign up here",
            hint="connect the user that you have, or ask the hub's admin for one",
        )
    slug = slug.strip().lower()
    check_slug(slug)
    caller = Caller(slug, address=address)
    with hub.database.write() as connection:
        _require_unknown(connection, identity)
        user_id = add_user(
            hub,
            connection,
            caller,
            slug,
            name=_label(identity.name),
            email=identity.email,
            admin=False,
            may_reuse=False,
        )
        _bind(hub, connection, caller, identity, user_id)
    return slug


def connect_user_of(hub: Hub, address: str, identity: Identity, key: str) -> str:
    """Bind an identity that is nobody's yet to the user of `key`; returns the slug.

    Raises NotLoggedIn for an unknown key, and NotAllowed for one that may not manage the user, is
    limited to one owner, or expires: the identity will not be so.
    """
    with few_failures(hub, place_of(address), most=MOST_FAILURES):
        caller = find_caller(hub, key.strip(), address=address)
        if caller is None:
            raise NotLoggedIn("Unknown or revoked API key")
        if caller.slug not in caller.manages:
            raise _may_not_connect()
    with hub.database.write() as connection:
        row = require_alive(hub, connection, caller)
        if row is None or row.owner_id is not None or row.expires_at is not None:
            raise _may_not_connect()
        _require_unknown(connection, identity)
        _bind(hub, connection, caller, identity, find_user(connection, caller.slug).id)
    return caller.slug


def _may_not_connect() -> NotAllowed:
    return NotAllowed(
        "This key may not connect its user to a provider",
        hint="use one that never expires and covers all owners: `prime keys create --scope admin`",
    )


def approve_login_by(hub: Hub, address: str, identity: Identity, code: str) -> str:
    """Let a client in as the user of `identity`, whose slug is given.

    Raises NotFound for an unknown code or user, NotAllowed for a suspended user, Conflict if it is
    already approved, RateLimited.
    """
    with few_failures(hub, place_of(address), most=MOST_FAILURES):
        slug = find_user_of(hub, identity)
        if slug is None:
            raise NotFound("You have no user on this hub yet")
        with hub.database.read() as connection:
            reason = find_user(connection, slug).suspended
        if reason is not None:
            raise suspension(reason)
        days = hub.settings.sign_in.key_days if hub.settings.sign_in else 0
        seconds = days * 24 * 3600 or None
        approve_login_of(hub, Caller(slug, address=address), code, slug, seconds=seconds)
    with hub.database.write() as connection:
        connection.execute(
            update(identities)
            .where(identities.c.issuer == identity.issuer, identities.c.subject == identity.subject)
            .values(last_used_at=hub.now(), email=identity.email)
        )
    return slug


# --- Managing them ---


def list_identities(hub: Hub, caller: Caller, user: str | None = None) -> IdentityList:
    """The identities of `user`, or of all; of others than the caller for admins of the hub.

    Raises NotFound for no user, and NotAllowed, also for a key that is limited to a team.
    """
    if user is None or user != caller.slug:
        require_admin(caller)
    else:
        require_own(caller, f"the identities of `{user}`")
    require_accounts(hub)
    query = _select_identities().order_by(owners.c.slug, identities.c.created_at)
    if user is not None:
        query = query.where(owners.c.slug == user)
    with hub.database.read() as connection:
        if user is not None:
            find_user(connection, user)
        return IdentityList([_shown(row) for row in connection.execute(query)])


def unlink_identity(hub: Hub, caller: Caller, identity_id: str) -> Done:
    """Unlink an identity: it logs nobody in any more, until somebody connects it again.

    Keys of its logins stay. Needs a key of its user with the scope `admin`, or an admin of the hub.
    Raises NotFound, NotAllowed, NotLoggedIn.
    """
    require_user(caller)
    require_accounts(hub)
    require_unlimited(caller, "the identities of its user")
    query = _select_identities()
    if not caller.admin:
        query = query.where(owners.c.slug == caller.slug)
    with hub.database.write() as connection:
        require_alive(hub, connection, caller)
        if not caller.admin and caller.slug not in caller.manages:
            raise NotAllowed(
                "This key may not unlink identities",
                hint="use a key with the scope `admin`, or ask the hub's admin",
            )
        found = [row for row in connection.execute(query) if _id_of(row) == identity_id]
        if not found:
            lists = "hub user identities" if caller.admin else "identities list"
            raise NotFound(
                f"Identity `{identity_id[:80]}` not found", hint=f"list them with `prime {lists}`"
            )
        (row,) = found
        mine = (identities.c.issuer == row.issuer, identities.c.subject == row.subject)
        connection.execute(delete(identities).where(*mine))
        detail = {"issuer": row.issuer, "subject": row.subject}
        record(hub, connection, caller, "identity.disconnect", row.user, **detail)
    return Done()


def _select_identities() -> Select[Any]:
    return select(identities, owners.c.slug.label("user")).join(
        owners, identities.c.user_id == owners.c.id
    )


def _id_of(row: Row[Any]) -> str:
    """A short name of an identity, whose own is its provider's and may be long."""
    return f"idn_{token_digest(f'{row.issuer} {row.subject}')[:16]}"


def _shown(row: Row[Any]) -> IdentityItem:
    return IdentityItem(
        _id_of(row), row.user, row.issuer, row.email, row.created_at, row.last_used_at
    )


# --- Shared ---


def _find(connection: Connection, identity: Identity) -> str | None:
    return connection.execute(
        select(owners.c.slug)
        .join(identities, identities.c.user_id == owners.c.id)
        .where(identities.c.issuer == identity.issuer, identities.c.subject == identity.subject)
    ).scalar()


def _require_unknown(connection: Connection, identity: Identity) -> None:
    slug = _find(connection, identity)
    if slug is not None:
        raise Conflict(f"You are the user `{slug}` on this hub already")


def _bind(
    hub: Hub, connection: Connection, caller: Caller, identity: Identity, user_id: str
) -> None:
    now = hub.now()
    connection.execute(
        insert(identities).values(
            issuer=identity.issuer,
            subject=identity.subject,
            user_id=user_id,
            email=identity.email,
            created_at=now,
            last_used_at=now,
        )
    )
    detail = {"issuer": identity.issuer, "subject": identity.subject}
    record(hub, connection, caller, "identity.connect", caller.slug, **detail)


def _is_possible(slug: str) -> bool:
    try:
        check_slug(slug)
    except UsageError:
        return False
    return True


def _is_free(connection: Connection, slug: str) -> bool:
    taken = select(owners.c.slug).where(owners.c.slug == slug)
    former = select(former_slugs.c.slug).where(former_slugs.c.slug == slug)
    return connection.execute(taken.union(former)).first() is None


def _label(name: str) -> str:
    """A name for display, as far as it can be shown."""
    return name.strip() if name.isprintable() and len(name.strip()) <= _LONGEST_NAME else ""


_LONGEST_NAME = 100
