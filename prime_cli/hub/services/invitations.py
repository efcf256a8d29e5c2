"""Invitations: made, listed and revoked by admins of teams and of the hub."""

from typing import Any

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
)

from prime_cli.core.errors import NotAllowed, NotFound, UsageError
from prime_cli.hub.context import OPERATOR, Caller, Hub
from prime_cli.hub.db.tables import invitations, keys, members, owners
from prime_cli.hub.services.access import check_slug, require_unlimited
from prime_cli.hub.services.audit import record
from prime_cli.hub.services.keys import require_alive
from prime_cli.hub.services.teams import (
    ADMIN,
    find_managed_team,
    read_role,
    require_manager,
)
from prime_cli.hub.services.users import find_user, require_accounts, require_admin
from prime_cli.hub.tokens import new_id, new_token, token_digest
from prime_cli.wire.invitations import (
    JOIN_PAGE,
    TOKEN_PREFIX,
    Invitation,
    InvitationList,
    InvitationMade,
    NewInvitation,
)
from prime_cli.wire.secrets import Done

WEEK_SECONDS = 7 * 24 * 3600
LONGEST_SECONDS = 366 * 24 * 3600
MOST_USES = 1000

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
    require_unlimited(caller, "who is in a team")
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
        item = describe_invitation(
            hub, connection.execute(select_valid(hub, invitations.c.id == made)).one()
        )
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
        rows = connection.execute(select_valid(hub, wanted).order_by(*order)).all()
    return InvitationList([describe_invitation(hub, row) for row in rows])


def revoke_invitation(hub: Hub, caller: Caller, invitation_id: str) -> Done:
    """End an invitation at once; whoever accepted it stays. Raises NotFound, NotAllowed."""
    require_accounts(hub)
    with hub.database.write() as connection:
        wanted = (invitations.c.id == invitation_id) & _managed_by(caller)
        row = connection.execute(select_valid(hub, wanted)).one_or_none()
        if row is None:
            raise NotFound(
                f"Invitation `{invitation_id[:80]}` not found",
                hint="list invitations with `prime teams invitations`",
            )
        require_unlimited(caller, "who is in a team")
        record(hub, connection, caller, "invitation.revoke", row.team or _HUB, invitation=row.id)
        connection.execute(delete(invitations).where(invitations.c.id == row.id))
    return Done()


def select_valid(hub: Hub, wanted: ColumnElement[bool]) -> Select[Any]:
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


def _managed_by(caller: Caller) -> ColumnElement[bool]:
    """The condition under which the caller sees and revokes an invitation."""
    if caller.admin:
        return invitations.c.id.is_not(None)
    return invitations.c.team_id.in_(
        select(_teams.c.id).where(_teams.c.slug.in_(caller.manages)).scalar_subquery()
    )


def describe_invitation(hub: Hub, row: Row[Any]) -> Invitation:
    """What is shown of a row of `select_valid`, to those who invite and to the invited."""
    return Invitation(
        id=row.id,
        by=row.inviter or OPERATOR,
        team=row.team,
        role=row.role.lower() or None,
        admin=bool(row.admin),
        user=row.for_user,
        uses_left=row.uses_left,
        sign_up=signs_up(hub, row),
        created_at=row.created_at,
        expires_at=row.expires_at,
    )


def signs_up(hub: Hub, row: Row[Any]) -> bool:
    """Whether somebody without an account may accept it."""
    return bool(row.by_hub_admin) or hub.settings.team_admins_invite


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
