"""`/hub`, `/invitations` and `/publishers` of one of our hubs: who may do what on it.

Users, teams and keys of everybody are for its admins, invitations for those who got one as well.
"""

from urllib.parse import quote

from prime_cli.client.api.accounts import Accounts
from prime_cli.client.api.connection import HubConnection, HubResponse
from prime_cli.client.api.transports import Query
from prime_cli.core.errors import NotFound
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
from prime_cli.wire.invitations import (
    Acceptance,
    Accepted,
    Invitation,
    InvitationList,
    InvitationMade,
    InvitationQuery,
    NewInvitation,
    ShownToken,
)
from prime_cli.wire.publishers import (
    MintedKey,
    MintRequest,
    NewPublisher,
    Publisher,
    PublisherList,
)
from prime_cli.wire.queries import write_query
from prime_cli.wire.quotas import NewQuota, Quota, QuotaList

_MOST_BYTES = 64 * 1024 * 1024
_MOST_PUBLISHER_BYTES = 4 * 1024 * 1024


class Administration:
    """What admins do; raises NotAllowed for others, NotFound on hubs of another kind."""

    def __init__(self, connection: HubConnection) -> None:
        self._connection = connection

    def create_user(self, new: NewUser) -> UserCreated:
        """A new user; raises Conflict if the name is taken."""
        return self._connection.call("POST", "/hub/users", body=new).read(UserCreated)

    def list_users(self) -> UserList:
        """All users, by slug."""
        return self._get("/hub/users").read(UserList)

    def remove_user(self, user: str) -> None:
        """Remove a user with all keys; raises Conflict for an owner of anything."""
        self._connection.call("DELETE", f"/hub/users/{_part(user)}")

    def add_to_team(self, new: NewTeam) -> TeamItem:
        """Create a team, or add members to one."""
        return self._connection.call("POST", "/hub/teams", body=new).read(TeamItem)

    def list_teams(self) -> TeamList:
        """All teams, by slug."""
        return self._get("/hub/teams").read(TeamList)

    def remove_team(self, team: str) -> None:
        """Remove a team; raises Conflict for an owner of anything."""
        self._connection.call("DELETE", f"/hub/teams/{_part(team)}")

    def set_member(self, team: str, user: str, change: MemberChange) -> None:
        """Add a user to a team, or change the role; for admins of the team, too."""
        path = f"/teams/{_part(team)}/members/{_part(user)}"
        self._connection.call("PUT", path, body=change)

    def remove_member(self, team: str, user: str) -> None:
        """Remove a user from a team; for admins of the team, and for the user."""
        self._connection.call("DELETE", f"/teams/{_part(team)}/members/{_part(user)}")

    def invite(self, new: NewInvitation) -> InvitationMade:
        """A new invitation, with its link; for admins of its team, too."""
        return self._connection.call("POST", "/invitations", body=new).read(InvitationMade)

    def list_invitations(self, team: str | None = None) -> InvitationList:
        """Those that the key may revoke, newest first."""
        return self._get("/invitations", write_query(InvitationQuery(team))).read(InvitationList)

    def revoke_invitation(self, invitation: str) -> None:
        """End an invitation; raises NotFound."""
        self._connection.call("DELETE", f"/invitations/{_part(invitation)}")

    def list_quotas(self) -> QuotaList:
        """What users and teams may have, and have."""
        return self._get("/hub/quotas").read(QuotaList)

    def set_quota(self, new: NewQuota) -> Quota:
        """Change what a user, a team or everybody may have."""
        return self._connection.call("PUT", "/hub/quotas", body=new).read(Quota)

    def list_takedowns(self) -> TakedownList:
        """All that is taken down, by kind and target."""
        return self._get("/hub/takedowns").read(TakedownList)

    def take_down(self, new: NewTakedown) -> Takedown:
        """Take something down, or change the reason."""
        return self._connection.call("POST", "/hub/takedowns", body=new).read(Takedown)

    def restore(self, target: str) -> Restored:
        """Undo a take-down; raises NotFound for what is not taken down."""
        query = {"target": target}
        return self._connection.call("DELETE", "/hub/takedowns", query=query).read(Restored)

    def list_keys(self, user: str | None) -> KeyList:
        """The keys of a user, or of all, newest first."""
        return self._get("/hub/keys", {"user": user}).read(KeyList)

    def revoke_key(self, key: str) -> KeysRevoked:
        """Revoke a key by its id, and those created with it."""
        return Accounts(self._connection).revoke_key(key)

    def revoke_all(self, user: str) -> KeysRevoked:
        """Revoke every key of a user."""
        return self._connection.call("DELETE", f"/hub/users/{_part(user)}/keys").read(KeysRevoked)

    def list_identities(self, user: str | None) -> IdentityList:
        """The identities that log a user in, or everybody."""
        return self._get("/hub/identities", {"user": user}).read(IdentityList)

    def unlink_identity(self, identity: str) -> None:
        """Unlink an identity of anybody's."""
        Accounts(self._connection).unlink_identity(identity)

    def list_usage(self, query: UsageQuery) -> UsageList:
        """What all spent on the hub's models in a month."""
        return self._get("/hub/usage", write_query(query)).read(UsageList)

    def list_audit(self, query: AuditQuery) -> AuditList:
        """The newest entries of the audit log."""
        return self._get("/hub/audit", write_query(query)).read(AuditList)

    def _get(self, path: str, query: Query | None = None) -> HubResponse:
        return self._connection.call("GET", path, query=query, most=_MOST_BYTES)


def _part(name: str) -> str:
    """A part of an address. Raises NotFound for a `/`, which routes take for two parts."""
    if "/" in name:
        raise NotFound(f"`{name}` not found", hint="names and ids contain no `/`")
    return quote(name, safe="")


class Invitations:
    """Raises NotFound for a token that lets nobody in, and on hubs of another kind."""

    def __init__(self, connection: HubConnection) -> None:
        self._connection = connection

    def show(self, token: str) -> Invitation:
        """What the token is an invitation to."""
        body = ShownToken(token)
        return self._connection.call("POST", "/invitations/show", body=body).read(Invitation)

    def accept(self, given: Acceptance) -> Accepted:
        """Join as the user of the key, or sign up without one; raises NotAllowed, Conflict."""
        return self._connection.call("POST", "/invitations/accept", body=given).read(Accepted)


class Publishers:
    """Raises NotAllowed without a key of the scope `admin`, and NotFound on other hubs."""

    def __init__(self, connection: HubConnection) -> None:
        self._connection = connection

    def list(self, owner: str | None = None, environment: str | None = None) -> list[Publisher]:
        """Those of what the user manages, newest first."""
        answer = self._connection.call(
            "GET",
            "/publishers",
            query={"owner": owner, "environment": environment},
            most=_MOST_PUBLISHER_BYTES,
        )
        return answer.read(PublisherList).publishers

    def add(self, new: NewPublisher) -> Publisher:
        """Trust jobs with those claims; raises Conflict, UsageError."""
        return self._connection.call("POST", "/publishers", body=new).read(Publisher)

    def remove(self, publisher_id: str) -> None:
        """Stop trusting one; raises NotFound."""
        self._connection.call("DELETE", f"/publishers/{_part(publisher_id)}")

    def mint_key(self, request: MintRequest) -> MintedKey:
        """A key for the job whose token it is; raises NotAllowed, Conflict."""
        return self._connection.call(
            "POST", "/publishers/mint-key", body=request, with_key=False
        ).read(MintedKey)
