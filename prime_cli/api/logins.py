"""`/auth_challenge`: a login that somebody approves elsewhere. None of this carries a key."""

import re
from dataclasses import dataclass, field

from prime_cli.api.connection import Connection
from prime_cli.core.errors import Unreachable
from prime_cli.wire.accounts import ChallengeRequest, ChallengeStatus, ChallengeTicket

_MOST_BYTES = 64 * 1024
_CODE = re.compile(r"[A-Za-z0-9_-]{1,100}")
_TOKEN = re.compile(r"[\x21-\x7e]{1,4096}")


@dataclass(frozen=True)
class PendingLogin:
    """The code that its user sees and compares, and the secret that asks for the outcome."""

    code: str
    token: str = field(repr=False)


class Logins:
    """Begins logins and asks what became of them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def begin(self, public_key: str) -> PendingLogin:
        """Ask for a code; the key will be encrypted for `public_key` (PEM).

        Raises NotFound where the hub has no such logins, RateLimited, Unreachable.
        """
        answer = self._connection.call(
            "POST",
            "/auth_challenge/generate",
            body=ChallengeRequest(public_key),
            most=_MOST_BYTES,
            with_key=False,
        )
        ticket = answer.read(ChallengeTicket)
        if not (_CODE.fullmatch(ticket.challenge) and _TOKEN.fullmatch(ticket.status_auth_token)):
            raise Unreachable(
                f"{self._connection.base_url} began a login with a code that cannot be one"
            )
        return PendingLogin(ticket.challenge, ticket.status_auth_token)

    def poll(self, login: PendingLogin) -> str | None:
        """The encrypted key, None while nobody has approved; raises NotFound when it has ended."""
        answer = self._connection.call(
            "GET",
            "/auth_challenge/status",
            query={"challenge": login.code},
            headers={"authorization": f"Bearer {login.token}"},
            most=_MOST_BYTES,
            with_key=False,
        )
        return answer.read(ChallengeStatus).result
