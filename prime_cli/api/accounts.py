"""`/user` and `/teams`: who the key belongs to, and for whom that user may publish."""

from prime_cli.api.connection import Answer, Connection
from prime_cli.api.pages import all_of
from prime_cli.wire.accounts import Account, KeyItem, MemberPage, Team, TeamPage

KEYS_FEATURE = "keys"
"""The name under which hubs of ours announce that a key may list and revoke itself."""

_MOST_BYTES = 4 * 1024 * 1024
_PAGE = 100


class Accounts:
    """The user behind the key; raises NotLoggedIn when the hub wants one and there is none."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def whoami(self, *, team_id: str | None = None) -> Account:
        """The user; `slug` owns what the user publishes, `scope` is what the key may do.

        With `team_id` it is what the key may do for that team.
        """
        return self._get("/user/whoami", teamId=team_id).read(Account)

    def teams(self, *, offset: int = 0, limit: int = _PAGE) -> TeamPage:
        """One page of the user's teams."""
        answer = self._get("/user/teams", offset=offset, limit=limit)
        body = answer.body
        teams = answer.convert(body.get("data", []), list[Team])
        total = answer.convert(body.get("total_count", len(teams)), int)
        return TeamPage(data=teams, total_count=total, offset=offset, limit=limit)

    def all_teams(self) -> list[Team]:
        """All of them; a hub whose pages never end is left after ten thousand."""
        return all_of(self.teams)

    def members(self, team_id: str, *, offset: int = 0, limit: int = _PAGE) -> MemberPage:
        """One page of a team's members; raises NotFound for a team that the user is not in."""
        answer = self._get(f"/teams/{team_id}/members", offset=offset, limit=limit)
        return answer.read_exactly(MemberPage)

    def current_key(self) -> KeyItem | None:
        """What a hub of ours says of the key that asks; None where it does not say."""
        answer = self._get("/user/keys")
        keys = answer.convert(answer.body.get("data", {}).get("keys", []), list[KeyItem])
        return next((each for each in keys if each.current), None)

    def revoke_current_key(self) -> None:
        """Make the key that asks worth nothing from now on; on hubs with KEYS_FEATURE."""
        self._connection.call("DELETE", "/user/keys/current", most=_MOST_BYTES)

    def _get(self, path: str, **query: str | int | None) -> Answer:
        return self._connection.call("GET", path, query=query, most=_MOST_BYTES)
