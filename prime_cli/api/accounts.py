"""`/user`: who the key belongs to."""

from prime_cli.api.connection import Connection
from prime_cli.wire.accounts import Account, Team, TeamPage


class Accounts:
    """The user behind the key; raises NotLoggedIn when the hub wants one and there is none."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def whoami(self) -> Account:
        """The user; `slug` owns what the user publishes."""
        return self._connection.call("GET", "/user/whoami").read(Account)

    def teams(self, *, offset: int = 0, limit: int = 100) -> TeamPage:
        """One page of the user's teams."""
        answer = self._connection.call(
            "GET", "/user/teams", query={"offset": offset, "limit": limit}
        )
        body = answer.body
        teams = answer.convert(body.get("data", []), list[Team])
        total = answer.convert(body.get("total_count", len(teams)), int)
        return TeamPage(data=teams, total_count=total, offset=offset, limit=limit)
