"""What admins of a hub do to users, teams and keys, by the API or on the hub's machine."""

from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.services import audit, identities, key_management, teams, users
from prime_cli.hub.services.usage import list_usage as find_usage
from prime_cli.wire.accounts import (
    AuditEntry,
    AuditList,
    AuditQuery,
    IdentityList,
    KeyList,
    KeysRevoked,
    MemberChange,
    NewTeam,
    NewUser,
    TeamItem,
    TeamList,
    UserCreated,
    UserList,
)
from prime_cli.wire.inference import UsageList, UsageQuery
from prime_cli.wire.secrets import Done

# --- Users ---


def create_user(hub: Hub, caller: Caller, new: NewUser) -> UserCreated:
    """As `users.create_user`."""
    return users.create_user(
        hub,
        caller,
        new.slug,
        name=new.name,
        email=new.email,
        admin=new.admin,
        with_key=new.with_key,
    )


def list_users(hub: Hub, caller: Caller) -> UserList:
    """All users; raises NotAllowed."""
    users.require_admin(caller)
    return UserList(users.list_users(hub))


def remove_user(hub: Hub, caller: Caller, slug: str) -> Done:
    """As `users.remove_user`."""
    users.remove_user(hub, caller, slug)
    return Done()


# --- Teams ---


def add_to_team(hub: Hub, caller: Caller, new: NewTeam) -> TeamItem:
    """As `teams.add_to_team`."""
    return teams.add_to_team(hub, caller, new.slug, new.members, name=new.name)


def list_teams(hub: Hub, caller: Caller) -> TeamList:
    """All teams; raises NotAllowed."""
    users.require_admin(caller)
    return TeamList(teams.list_teams(hub))


def remove_team(hub: Hub, caller: Caller, slug: str) -> Done:
    """As `teams.remove_team`."""
    teams.remove_team(hub, caller, slug)
    return Done()


def set_member(hub: Hub, caller: Caller, team: str, user: str, change: MemberChange) -> Done:
    """As `teams.set_member`."""
    teams.set_member(hub, caller, team, user, change.role)
    return Done()


def remove_member(hub: Hub, caller: Caller, team: str, user: str) -> Done:
    """As `teams.remove_member`."""
    teams.remove_member(hub, caller, team, user)
    return Done()


# --- Keys, usage and the log ---


def list_keys(hub: Hub, caller: Caller, user: str | None) -> KeyList:
    """The keys of a user, or of all; raises NotAllowed."""
    users.require_admin(caller)
    return KeyList(key_management.list_keys(hub, caller, user))


def revoke_all(hub: Hub, caller: Caller, user: str) -> KeysRevoked:
    """As `key_management.revoke_all`."""
    return KeysRevoked(revoked=key_management.revoke_all(hub, caller, user))


def list_identities(hub: Hub, caller: Caller, user: str | None) -> IdentityList:
    """The identities of a user, or of all; raises NotAllowed."""
    users.require_admin(caller)
    return identities.list_identities(hub, caller, user)


def list_usage(hub: Hub, caller: Caller, query: UsageQuery) -> UsageList:
    """What all spent on models; raises NotAllowed, UsageError."""
    users.require_admin(caller)
    return UsageList(find_usage(hub, query.month, query.owner))


def list_audit(hub: Hub, caller: Caller, query: AuditQuery) -> AuditList:
    """The newest entries of the audit log; raises NotAllowed."""
    users.require_admin(caller)
    found = audit.list_entries(
        hub,
        actor=query.user,
        action=query.action,
        key=query.key,
        target=query.target,
        limit=query.limit,
    )
    return AuditList(found)


def list_audit_page(
    hub: Hub, caller: Caller, query: AuditQuery, before: int | None
) -> tuple[list[AuditEntry], int | None]:
    """A page of the audit log, from the newest entry or `before` a place, and the next place.

    Raises NotAllowed.
    """
    users.require_admin(caller)
    return audit.list_entries_before(hub, query, before)
