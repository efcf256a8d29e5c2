"""`/invitations` of one of our hubs, for those who got one; `administration` makes them."""

from prime_cli.api.connection import HubConnection
from prime_cli.wire.invitations import Acceptance, Accepted, Invitation, ShownToken


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
