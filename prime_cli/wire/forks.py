"""Forks of environments on the wire."""

import msgspec


class ForkRequest(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """`POST /environmentshub/{owner}/{name}/fork`: into the caller's own, or into a team's."""

    team_slug: str | None = None
    team_id: str | None = None


class ForkReply(msgspec.Struct):
    """What was made; `slug` is its `owner/name`."""

    success: bool
    message: str | None
    environment_id: str
    version_id: str
    name: str
    owner: str
    slug: str
