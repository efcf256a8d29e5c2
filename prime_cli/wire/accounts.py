"""Users and teams on the wire, as the official client reads them (releases 0.3 to 0.18)."""

from typing import Any

import msgspec


class Account(msgspec.Struct):
    """`GET /user/whoami`; `slug` is the owner name of what the user publishes."""

    id: str
    email: str | None = None
    name: str | None = None
    slug: str | None = None
    scope: dict[str, Any] | None = None


class Team(msgspec.Struct, rename="camel"):
    """One row of `GET /user/teams`."""

    team_id: str
    name: str
    slug: str
    role: str
    created_at: str


class TeamPage(msgspec.Struct):
    """`GET /user/teams`."""

    data: list[Team]
    total_count: int = 0
    offset: int = 0
    limit: int = 100
