"""A hub's administration on its own machine: `api.administration` without a request and a key."""

from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.services import administration as service
from prime_cli.hub.services import identities, invitations, quotas, takedowns
from prime_cli.hub.services.key_management import revoke_key
from prime_cli.wire.accounts import (
    AuditList,
    AuditQuery,
    IdentityList,
    KeyList,
    KeysRevoked,
    MemberChange,
    NewTakedown,
    NewTeam,
    NewUser,
    Restored,
    Takedown,
    TakedownList,
    TeamItem,
    TeamList,
    UserCreated,
    UserList,
)
from prime_cli.wire.inference import UsageList, UsageQuery
from prime_cli.wire.invitations import InvitationList, InvitationMade, NewInvitation
from prime_cli.wire.quotas import NewQuota, Quota, QuotaList

_OPERATOR = Caller.operator()


class Operator:
    """What `Administration` does, with the services of an open hub; `cli` in its audit log."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def create_user(self, new: NewUser) -> UserCreated:
        return service.create_user(self._hub, _OPERATOR, new)

    def list_users(self) -> UserList:
        return service.list_users(self._hub, _OPERATOR)

    def remove_user(self, user: str) -> None:
        service.remove_user(self._hub, _OPERATOR, user)

    def add_to_team(self, new: NewTeam) -> TeamItem:
        return service.add_to_team(self._hub, _OPERATOR, new)

    def list_teams(self) -> TeamList:
        return service.list_teams(self._hub, _OPERATOR)

    def remove_team(self, team: str) -> None:
        service.remove_team(self._hub, _OPERATOR, team)

    def set_member(self, team: str, user: str, change: MemberChange) -> None:
        service.set_member(self._hub, _OPERATOR, team, user, change)

    def remove_member(self, team: str, user: str) -> None:
        service.remove_member(self._hub, _OPERATOR, team, user)

    def invite(self, new: NewInvitation) -> InvitationMade:
        return invitations.invite(self._hub, _OPERATOR, new)

    def list_invitations(self, team: str | None = None) -> InvitationList:
        return invitations.list_invitations(self._hub, _OPERATOR, team)

    def revoke_invitation(self, invitation: str) -> None:
        invitations.revoke_invitation(self._hub, _OPERATOR, invitation)

    def list_quotas(self) -> QuotaList:
        return quotas.list_quotas(self._hub, _OPERATOR)

    def set_quota(self, new: NewQuota) -> Quota:
        return quotas.set_quota(self._hub, _OPERATOR, new)

    def list_takedowns(self) -> TakedownList:
        return takedowns.list_takedowns(self._hub, _OPERATOR)

    def take_down(self, new: NewTakedown) -> Takedown:
        return takedowns.take_down(self._hub, _OPERATOR, new)

    def restore(self, target: str) -> Restored:
        return takedowns.restore(self._hub, _OPERATOR, target)

    def list_keys(self, user: str | None) -> KeyList:
        return service.list_keys(self._hub, _OPERATOR, user)

    def revoke_key(self, key: str) -> KeysRevoked:
        revoked = revoke_key(self._hub, _OPERATOR, key)
        return KeysRevoked(revoked=len(revoked), keys=revoked)

    def revoke_all(self, user: str) -> KeysRevoked:
        return service.revoke_all(self._hub, _OPERATOR, user)

    def list_identities(self, user: str | None) -> IdentityList:
        return service.list_identities(self._hub, _OPERATOR, user)

    def unlink_identity(self, identity: str) -> None:
        identities.unlink_identity(self._hub, _OPERATOR, identity)

    def list_usage(self, query: UsageQuery) -> UsageList:
        return service.list_usage(self._hub, _OPERATOR, query)

    def list_audit(self, query: AuditQuery) -> AuditList:
        return service.list_audit(self._hub, _OPERATOR, query)
