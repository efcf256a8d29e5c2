"""Users, teams, keys and logins, as the official client reads them (releases 0.3 to 0.18)."""

from typing import Annotated, Any

import msgspec

from prime_cli.wire.queries import Param

# Keys, and the structs named `…Item`, are ours: the public wire has no address for them.


class Permission(msgspec.Struct):
    """What a key may do with one kind of thing."""

    read: bool
    write: bool


class Account(msgspec.Struct):
    """`GET /user/whoami`; `slug` is the owner name of what the user publishes."""

    id: str = ""
    email: str | None = None
    name: str | None = None
    slug: str | None = None
    # Kind of thing to `Permission`; other hubs may write anything here.
    scope: dict[str, Any] | None = None


class AccountQuery(msgspec.Struct, frozen=True):
    """What `GET /user/whoami` may ask for."""

    team_id: Annotated[
        str | None, Param("Show the permissions of the key for this team", name="teamId")
    ] = None


class SlugRequest(msgspec.Struct):
    """`PATCH /user/slug`."""

    slug: str


class Team(msgspec.Struct, rename="camel"):
    """One row of `GET /user/teams`; a team of the public hub may have no slug."""

    team_id: str
    name: str
    slug: str = ""
    role: str = ""
    created_at: str = ""


class TeamPage(msgspec.Struct):
    """`GET /user/teams`."""

    data: list[Team]
    total_count: int = 0
    offset: int = 0
    limit: int = 100


class Member(msgspec.Struct, rename="camel"):
    """One row of `GET /teams/{team_id}/members`; `role` is `ADMIN` or `MEMBER`.

    `user_slug` is ours: a name need not be one that a command takes.
    """

    user_id: str
    user_name: str | None
    user_email: str | None
    role: str
    joined_at: str
    user_slug: str | None = None


class MemberPage(msgspec.Struct):
    """`GET /teams/{team_id}/members`."""

    data: list[Member]
    total_count: int = 0
    offset: int = 0
    limit: int = 100


class KeyItem(msgspec.Struct, rename="camel"):
    """A key in a list: all but the key. `prefix` is its beginning.

    `owner` is the only owner it is valid for, or null; `last_used_at` is exact to ten minutes.
    `parent` is the id of the key that created it, and is revoked with it. A key that `publishes` an
    environment (`owner/name`, or `owner/*` for all) may write nothing else.
    """

    id: str
    user: str
    prefix: str
    name: str
    scope: str
    created_at: str
    owner: str | None = None
    expires_at: str | None = None
    last_used_at: str | None = None
    parent: str | None = None
    publishes: str | None = None
    # Whether it is the key that the list was asked for with.
    current: bool = False

    @property
    def rights(self) -> str:
        """The scope for people: `write`, or `publish lab/words`."""
        return self.scope if self.publishes is None else f"publish {self.publishes}"


class KeyList(msgspec.Struct):
    """`GET /user/keys`, newest first."""

    keys: list[KeyItem]


class KeyRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """`POST /user/keys`; without `expires_in` (seconds) it does not expire."""

    name: str = ""
    scope: str = "write"
    owner: str | None = None
    expires_in: int | None = None


class KeyReply(msgspec.Struct):
    """The only answer that contains the `key`."""

    id: str
    key: str


class KeysRevoked(msgspec.Struct):
    """`DELETE /user/keys/{id}`: how many keys were revoked, including those it created.

    `keys` are their ids, the one that was named first, where they are known.
    """

    success: bool = True
    revoked: int = 1
    keys: list[str] = []


class UserItem(msgspec.Struct, kw_only=True):
    """A user, as `prime hub user list` shows it; `teams` and `keys` are counts."""

    slug: str
    id: str
    name: str
    email: str | None = None
    admin: bool
    teams: int
    keys: int
    created_at: str


class TeamItem(msgspec.Struct):
    """A team, as `prime hub team list` shows it; `members` are `slug` or `slug:admin`."""

    slug: str
    id: str
    name: str
    members: list[str]
    created_at: str


# --- For admins ---

GOVERN_FEATURE = "govern"
"""The feature by which hubs announce the addresses below `/hub`."""


class NewUser(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """`POST /hub/users`; `with_key` also makes a key, which only the answer has."""

    slug: str
    name: str = ""
    email: str | None = None
    admin: bool = False
    with_key: bool = False


class UserCreated(msgspec.Struct):
    """The new user, and the first key where one was wanted."""

    user: UserItem
    key: str | None = None


class UserList(msgspec.Struct):
    """`GET /hub/users`."""

    users: list[UserItem]


class NewTeam(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """`POST /hub/teams`: `members` (`ada`, `ada:admin`) of a new team, or more of a known one."""

    slug: str
    members: list[str] = []
    name: str = ""


class TeamList(msgspec.Struct):
    """`GET /hub/teams`."""

    teams: list[TeamItem]


class MemberChange(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """`PUT /teams/{team_id}/members/{user}`: `admin` or `member`."""

    role: str = "member"


class NewTakedown(msgspec.Struct, forbid_unknown_fields=True):
    """`POST /hub/takedowns`: `owner/name`, `owner/name@version`, an evaluation's id or a user."""

    target: str
    reason: str


class Takedown(msgspec.Struct):
    """What is taken down, and why; `kind` is `environment`, `version`, `evaluation` or `user`."""

    kind: str
    target: str
    reason: str


class Restored(msgspec.Struct):
    """What was taken down is not any more, and whether everybody sees it again."""

    is_public: bool = False
    success: bool = True


class TakedownQuery(msgspec.Struct, frozen=True):
    """What `DELETE /hub/takedowns` restores."""

    target: Annotated[str, Param("What is taken down, as it was named")] = ""


class TakedownList(msgspec.Struct):
    """`GET /hub/takedowns`, by kind and target."""

    takedowns: list[Takedown]


class AuditQuery(msgspec.Struct, frozen=True):
    """Which entries `GET /hub/audit` lists; `action` and `target` are beginnings."""

    user: Annotated[str | None, Param("Actions of this user")] = None
    action: Annotated[str | None, Param("Actions that start with this")] = None
    key: Annotated[str | None, Param("This key, and the keys created with it")] = None
    target: Annotated[str | None, Param("Objects that start with this")] = None
    limit: Annotated[int, Param("Maximum number of entries", least=1, most=100_000)] = 100


IDENTITIES_FEATURE = "identities"
"""The feature by which hubs announce `/user/identities`, and `/hub/identities` for admins."""


class IdentityItem(msgspec.Struct, rename="camel"):
    """An identity of a provider (`issuer`) that logs its `user` in; `email` is for people."""

    id: str
    user: str
    issuer: str
    email: str | None
    created_at: str
    last_used_at: str


class IdentityList(msgspec.Struct):
    """`GET /user/identities`, by user and date."""

    identities: list[IdentityItem]


class KeyQuery(msgspec.Struct, frozen=True):
    """Whose keys `GET /hub/keys` lists, and whose identities `GET /hub/identities` does."""

    user: Annotated[str | None, Param("Those of this user")] = None


# --- Login ---


class KeyLimits(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Limits on features that our hubs do not have, so they can be ignored safely.

    Other limits are refused.
    """

    max_concurrent_sandboxes: Any = None
    max_sandbox_creations_per_hour: Any = None
    max_sandbox_cpu_cores: Any = None
    max_sandbox_gpu_count: Any = None
    max_concurrent_tunnels: Any = None
    max_tunnel_creations_per_hour: Any = None
    max_tunnel_ttl_hours: Any = None


class ChallengeRequest(
    msgspec.Struct, rename="camel", forbid_unknown_fields=True, omit_defaults=True
):
    """`POST /auth_challenge/generate`: an RSA public key as PEM (SubjectPublicKeyInfo).

    Releases since 0.9 may add `limits`; earlier hubs know no such field, so none is sent.
    """

    encryption_public_key: str
    limits: KeyLimits | None = None


class ChallengeTicket(msgspec.Struct):
    """The code that people compare, and the token to poll with."""

    challenge: str
    status_auth_token: str


class ChallengeQuery(msgspec.Struct, frozen=True):
    """Which login `GET /auth_challenge/status` asks about."""

    challenge: Annotated[str, Param("Code of the login challenge", longest=100)] = ""


class ChallengeStatus(msgspec.Struct):
    """`GET /auth_challenge/status`: null until approved.

    Then base64 of the API key's UTF-8 bytes under RSA-OAEP with SHA-256, MGF1 with SHA-256, and no
    label (RFC 8017).
    """

    result: str | None = None


# --- Audit log ---


class AuditEntry(msgspec.Struct):
    """Who did what to what; `actor` is `cli` for a command on the hub's machine.

    `at` is an ISO 8601 time in UTC; `key_id` and `address` are those of the request.
    """

    at: str
    actor: str
    action: str
    target: str
    key_id: str | None = None
    address: str | None = None
    detail: dict[str, Any] = msgspec.field(default_factory=dict)


class AuditList(msgspec.Struct):
    """`GET /hub/audit`, newest first."""

    entries: list[AuditEntry]
