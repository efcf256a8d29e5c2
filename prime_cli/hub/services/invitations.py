"""Invitations: with one a user joins a team, and a new user signs up."""

from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    delete,
    insert,
    or_,
    select,
    update,
)

from prime_cli.core.errors import Conflict, NotAllowed, NotFound, UsageError
from prime_cli.hub.context import OPERATOR, Caller, Hub
from prime_cli.hub.db.tables import invitations, keys, members, owners
from prime_cli.hub.services.access import check_slug, require_not_suspended
from prime_cli.hub.services.audit import record
from prime_cli.hub.services.environments import forget_mirrored
from prime_cli.hub.services.keys import ADMIN as ADMIN_SCOPE
from prime_cli.hub.services.keys import create_key, require_alive
from prime_cli.hub.services.logins import few_failures, network_of
from prime_cli.hub.services.teams import (
    ADMIN,
    find_managed_team,
    put_member,
    read_role,
    require_manager,
)
from prime_cli.hub.services.users import add_user, find_user, require_accounts, require_admin
from prime_cli.hub.tokens import new_id, new_token, token_digest
from prime_cli.wire.invitations import (
    JOIN_PAGE,
    SIGN_UP_KEY,
    TOKEN_PREFIX,
    Acceptance,
    Accepted,
    Invitation,
    InvitationList,
    InvitationMade,
    NewInvitation,
)
from prime_cli.wire.secrets import Done

WEEK_SECONDS = 7 * 24 * 3600
LONGEST_SECONDS = 366 * 24 * 3600
MOST_USES = 1000
MOST_FAILURES = 10
"""Wrong tokens and names from one address in ten minutes."""

_HUB = "hub"
"""What an invitation to no team is to, in the audit log; no user or team can be named so."""

_inviters = owners.alias("inviters")
_teams = owners.alias("teams")
_roles = members.alias("roles")

# A key that is limited to one owner speaks for no admin of the hub.
_BY_HUB_ADMIN = or_(
    invitations.c.inviter_id.is_(None), and_(_inviters.c.admin, keys.c.owner_id.is_(None))
)
# Who was an admin of the hub once, and of a team still, makes no admins of the hub.
_BY_TEAM_ADMIN = and_(
    invitations.c.team_id.is_not(None), _roles.c.role == ADMIN, invitations.c.admin.is_(False)
)


# --- For those who invite ---


def invite(hub: Hub, caller: Caller, new: NewInvitation) -> InvitationMade:
    """A new invitation, for admins of its team or of the hub.

    It ends with the caller's key, and when the caller is no longer such an admin. Raises NotFound
    for a team that the caller is not in, NotAllowed, UsageError.
    """
    require_accounts(hub)
    role = read_role(new.role)
    if new.user is not None:
        check_slug(new.user)
    _check_uses(new)
    token = TOKEN_PREFIX + new_token()
    made = new_id("inv")
    with hub.database.write() as connection:
        team = _find_team(connection, caller, new)
        if new.admin or team is None:
            require_admin(caller)
        key = require_alive(hub, connection, caller)
        connection.execute(delete(invitations).where(invitations.c.expires_at <= hub.now()))
        values = {
            "id": made,
            "sha256": token_digest(token),
            "inviter_id": None if caller.operates else find_user(connection, caller.slug).id,
            "key_id": caller.key_id,
            "team_id": team.id if team is not None else None,
            "role": role if team is not None else "",
            "admin": new.admin,
            "for_user": new.user,
            "uses_left": new.uses,
            "created_at": hub.now(),
            "expires_at": _end(hub, new.expires_in, key.expires_at if key is not None else None),
        }
        connection.execute(insert(invitations).values(**values))
        item = _item(hub, connection.execute(_select_valid(hub, invitations.c.id == made)).one())
        detail = {name: getattr(item, name) for name in ("team", "role", "admin", "user")}
        record(
            hub,
            connection,
            caller,
            "invitation.create",
            item.team or _HUB,
            invitation=made,
            **detail,
        )
    return InvitationMade(item, f"{hub.settings.public_url}{JOIN_PAGE}#{token}")


def list_invitations(hub: Hub, caller: Caller, team: str | None = None) -> InvitationList:
    """Those that are valid and that the caller may revoke, newest first.

    Raises NotFound for a `team` that the caller is not in, NotAllowed where it is no admin.
    """
    require_accounts(hub)
    with hub.database.read() as connection:
        if team is not None:
            found = find_managed_team(connection, caller, team)
            require_manager(caller, found)
            wanted = invitations.c.team_id == found.id
        else:
            wanted = _managed_by(caller)
        order = (invitations.c.created_at.desc(), invitations.c.id)
        rows = connection.execute(_select_valid(hub, wanted).order_by(*order)).all()
    return InvitationList([_item(hub, row) for row in rows])


def revoke_invitation(hub: Hub, caller: Caller, invitation_id: str) -> Done:
    """End an invitation at once; whoever accepted it stays. Raises NotFound."""
    require_accounts(hub)
    with hub.database.write() as connection:
        wanted = (invitations.c.id == invitation_id) & _managed_by(caller)
        row = connection.execute(_select_valid(hub, wanted)).one_or_none()
        if row is None:
            raise NotFound(
                f"Invitation `{invitation_id[:80]}` not found",
                hint="list invitations with `prime teams invitations`",
            )
        record(hub, connection, caller, "invitation.revoke", row.team or _HUB, invitation=row.id)
        connection.execute(delete(invitations).where(invitations.c.id == row.id))
    return Done()


# --- For those who are invited ---


def show_invitation(hub: Hub, caller: Caller, token: str) -> Invitation:
    """What the token is an invitation to; raises NotFound, RateLimited."""
    require_accounts(hub)
    with few_failures(hub, _place(caller), most=MOST_FAILURES):
        return _item(hub, _find(hub, token))


def accept_invitation(hub: Hub, caller: Caller, given: Acceptance) -> Accepted:
    """The caller joins the team; without a key a new user signs up.

    Raises NotFound for a token that is unknown, used, revoked or expired, or whose inviter may no
    longer invite: all in the same words. Raises NotAllowed for somebody else's, Conflict for a
    member and for a name that is taken, UsageError, RateLimited.
    """
    require_accounts(hub)
    require_not_suspended(caller)
    with few_failures(hub, _place(caller), most=MOST_FAILURES, also=Conflict):
        found = _find(hub, given.token)
        name = caller.slug or _check_name(hub, found, given)
        if not caller.slug and found.for_user and found.by_hub_admin:
            forget_mirrored(hub, name)
        with hub.database.write() as connection:
            # Of several at once, each sees what those before it have used up.
            row = _take(hub, connection, given.token)
            if caller.slug:
                return _join(hub, connection, caller, row)
            return _sign_up(hub, connection, caller, row, name)


def _join(hub: Hub, connection: Connection, caller: Caller, row: Row[Any]) -> Accepted:
    if row.for_user not in (None, caller.slug):
        raise NotAllowed(
            f"This invitation is for `{row.for_user}`, and you are `{caller.slug}`",
            hint="log in as that user, or ask for an invitation of your own",
        )
    if caller.slug not in caller.writes:
        raise NotAllowed("This key is read-only", hint="use a key with the scope `write`")
    if row.team_id is None:
        raise Conflict(
            f"You have an account here already: you are `{caller.slug}`",
            hint="nothing is left to do; see `prime whoami`",
        )
    user = find_user(connection, caller.slug)
    now = connection.execute(
        select(members.c.role).where(members.c.team_id == row.team_id, members.c.user_id == user.id)
    ).scalar()
    if now in (row.role, ADMIN):
        raise Conflict(
            f"You are in the team `{row.team}` already",
            hint=f"work for it with `prime switch {row.team}`",
        )
    put_member(hub, connection, caller, _team_of(row), user, row.role)
    _note(hub, connection, caller, row, user.slug)
    return Accepted(user.slug, row.team, row.role.lower())


def _sign_up(
    hub: Hub, connection: Connection, caller: Caller, row: Row[Any], name: str
) -> Accepted:
    """A new user, whose first key has no parent: it outlives that of the inviter."""
    new = Caller(name, address=caller.address)
    is_named = bool(row.for_user and row.by_hub_admin)
    user_id = add_user(hub, connection, new, name, admin=bool(row.admin), may_reuse=is_named)
    key_name = f"{SIGN_UP_KEY}{caller.address or 'an unknown address'}"
    key = create_key(hub, connection, user_id, name=key_name, scope=ADMIN_SCOPE)
    detail = {"scope": ADMIN_SCOPE, "name": key_name, "key": key.id}
    record(hub, connection, new, "key.create", name, **detail)
    if row.team_id is not None:
        put_member(hub, connection, new, _team_of(row), find_user(connection, name), row.role)
    _note(hub, connection, Caller(name, key_id=row.key_id, address=caller.address), row, name)
    return Accepted(name, row.team, row.role.lower() or None, key.key)


def _check_name(hub: Hub, row: Row[Any], given: Acceptance) -> str:
    """The name of the new user; raises NotAllowed, UsageError."""
    if not _signs_up(hub, row):
        raise NotAllowed(
            "This invitation is for people who have an account on this hub",
            hint="log in with `prime login`, then accept it again; without an account, ask an "
            "admin of the hub for an invitation",
        )
    name = given.user or row.for_user
    if name is None:
        raise UsageError("A new user needs a name", hint="choose one with `--user NAME`")
    if row.for_user not in (None, name):
        raise NotAllowed(f"This invitation is for `{row.for_user}`")
    check_slug(name)
    return str(name)


def _note(hub: Hub, connection: Connection, caller: Caller, row: Row[Any], user: str) -> None:
    """Record who came in, by whose invitation; a new user's entry has the key that it came with."""
    by = row.inviter or OPERATOR
    detail = {"invitation": row.id, "by": by, "by_key": row.key_id, "team": row.team}
    record(hub, connection, caller, "invitation.accept", user, **detail)


# --- Rows ---


def _find(hub: Hub, token: str) -> Row[Any]:
    with hub.database.read() as connection:
        return _one(hub, connection, token)


def _take(hub: Hub, connection: Connection, token: str) -> Row[Any]:
    """The row of a token, with one use of it used up, in the caller's transaction."""
    row = _one(hub, connection, token)
    its = invitations.c.id == row.id
    if row.uses_left > 1:
        fewer = update(invitations).where(its).values(uses_left=row.uses_left - 1)
        connection.execute(fewer)
    else:
        connection.execute(delete(invitations).where(its))
    return row


def _one(hub: Hub, connection: Connection, token: str) -> Row[Any]:
    digest = token_digest(token)
    found = connection.execute(_select_valid(hub, invitations.c.sha256 == digest)).one_or_none()
    if found is None:
        raise NotFound(
            "This invitation does not exist, or is no longer valid",
            hint="ask the person who sent it for a new one",
        )
    return found


def _select_valid(hub: Hub, wanted: ColumnElement[bool]) -> Select[Any]:
    """Rows of invitations whose inviters may still invite, with names in place of ids."""
    return (
        select(
            invitations,
            _inviters.c.slug.label("inviter"),
            _teams.c.slug.label("team"),
            _BY_HUB_ADMIN.label("by_hub_admin"),
        )
        .outerjoin(_inviters, invitations.c.inviter_id == _inviters.c.id)
        .outerjoin(keys, invitations.c.key_id == keys.c.id)
        .outerjoin(_teams, invitations.c.team_id == _teams.c.id)
        .outerjoin(
            _roles,
            and_(
                _roles.c.team_id == invitations.c.team_id,
                _roles.c.user_id == invitations.c.inviter_id,
            ),
        )
        .where(
            wanted,
            invitations.c.expires_at > hub.now(),
            invitations.c.uses_left > 0,
            or_(_BY_HUB_ADMIN, _BY_TEAM_ADMIN),
            _inviters.c.suspended.is_(None),
        )
    )


class _Team(NamedTuple):
    """What `put_member` reads of the row of a team."""

    id: str
    slug: str


def _team_of(row: Row[Any]) -> _Team:
    return _Team(row.team_id, row.team)


def _managed_by(caller: Caller) -> ColumnElement[bool]:
    """The condition under which the caller sees and revokes an invitation."""
    if caller.admin:
        return invitations.c.id.is_not(None)
    return invitations.c.team_id.in_(
        select(_teams.c.id).where(_teams.c.slug.in_(caller.manages)).scalar_subquery()
    )


def _item(hub: Hub, row: Row[Any]) -> Invitation:
    return Invitation(
        id=row.id,
        by=row.inviter or OPERATOR,
        team=row.team,
        role=row.role.lower() or None,
        admin=bool(row.admin),
        user=row.for_user,
        uses_left=row.uses_left,
        sign_up=_signs_up(hub, row),
        created_at=row.created_at,
        expires_at=row.expires_at,
    )


def _signs_up(hub: Hub, row: Row[Any]) -> bool:
    return bool(row.by_hub_admin) or hub.settings.team_admins_invite


# --- What is asked for ---


def _find_team(connection: Connection, caller: Caller, new: NewInvitation) -> Row[Any] | None:
    if new.team is None:
        return None
    team = find_managed_team(connection, caller, new.team)
    require_manager(caller, team)
    return team


def _check_uses(new: NewInvitation) -> None:
    if not 1 <= new.uses <= MOST_USES:
        raise UsageError(f"An invitation lets in 1 to {MOST_USES} people")
    if new.user is not None and new.uses > 1:
        raise UsageError(f"An invitation for `{new.user}` can be used only once")
    if new.admin and new.uses > 1:
        raise UsageError("An invitation for admins of the hub can be used only once")


def _end(hub: Hub, seconds: int | None, key_ends_at: str | None) -> str:
    """When the invitation expires: no later than the key that it is made with."""
    if seconds is not None and not 0 < seconds <= LONGEST_SECONDS:
        raise UsageError("An invitation is valid for at most a year")
    wanted = hub.after(seconds or WEEK_SECONDS)
    if key_ends_at is None or wanted <= key_ends_at:
        return wanted
    if seconds is not None:
        raise NotAllowed(f"The invitation would outlive this key, which expires at {key_ends_at}")
    return key_ends_at


def _place(caller: Caller) -> str:
    return f"invitation from {network_of(caller.address)}"
