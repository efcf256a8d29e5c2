"""`/invitations` of one of our hubs."""

from urllib.parse import quote

from prime_cli.api.connection import HubConnection
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
from prime_cli.wire.queries import write_query

_MOST_BYTES = 16 * 1024 * 1024


class Invitations:
    """Made by admins of teams and hubs; raises NotFound on hubs of another kind."""

    def __init__(self, connection: HubConnection) -> None:
        self._connection = connection

    def invite(self, new: NewInvitation) -> InvitationMade:
        """A new invitation, with its link; raises NotAllowed."""
        return self._connection.call("POST", "/invitations", body=new).read(InvitationMade)

    def list(self, team: str | None = None) -> InvitationList:
        """Those that the key may revoke, newest first."""
        query = write_query(InvitationQuery(team))
        answer = self._connection.call("GET", "/invitations", query=query, most=_MOST_BYTES)
        return answer.read(InvitationList)

    def revoke(self, invitation: str) -> None:
        """End an invitation; raises NotFound."""
        self._connection.call("DELETE", f"/invitations/{quote(invitation, safe='')}")

    def show(self, token: str) -> Invitation:
        """What the token is an invitation to; raises NotFound."""
        return self._connection.call("POST", "/invitations/show", body=ShownToken(token)).read(
            Invitation
        )

    def accept(self, given: Acceptance) -> Accepted:
        """Join as the user of the key, or sign up without one.

        Raises NotFound, NotAllowed, Conflict.
        """
        return self._connection.call("POST", "/invitations/accept", body=given).read(Accepted)
