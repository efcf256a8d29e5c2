"""Invitations to a hub and to teams; ours, as the public wire has no address for them."""

import re
from typing import Annotated

import msgspec

from prime_cli.wire.queries import Param

INVITE_FEATURE = "invitations"
"""The feature by which hubs announce them."""

JOIN_PAGE = "/join"
"""The page of a hub that its links lead to.

The token is the link's fragment, which no browser sends: it is in no log.
"""

SIGN_UP_KEY = "sign-up from "
"""How the names of keys begin that new users get: nobody else has them."""

TOKEN_PREFIX = "prime_inv_"  # noqa: S105 - what tokens begin with

TOKEN = re.compile(rf"{TOKEN_PREFIX}[A-Za-z0-9_-]{{1,100}}")
"""A token, in whatever it was sent with."""

Token = Annotated[str, msgspec.Meta(max_length=200)]


class NewInvitation(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """`POST /invitations`: to `team` with `role`, or to the hub alone.

    `user` is the name of the one person it is for. `uses` is how many people it lets in, and
    `expires_in` (seconds, default: a week) how long. `admin` makes those who sign up admins of the
    hub.
    """

    team: str | None = None
    role: str = "member"
    admin: bool = False
    user: str | None = None
    uses: int = 1
    expires_in: int | None = None


class Invitation(msgspec.Struct, kw_only=True):
    """An invitation without its token; `role` is `admin` or `member` of the team.

    `by` is the user who made it, or `cli` for a command on the hub's machine. `sign_up` says
    whether it also lets in people who have no account yet.
    """

    id: str
    by: str
    team: str | None = None
    role: str | None = None
    admin: bool = False
    user: str | None = None
    uses_left: int
    sign_up: bool
    created_at: str
    expires_at: str


class InvitationMade(msgspec.Struct):
    """The only answer that contains the token, as the end of `link`."""

    invitation: Invitation
    link: str


class InvitationList(msgspec.Struct):
    """`GET /invitations`, newest first."""

    invitations: list[Invitation]


class InvitationQuery(msgspec.Struct, frozen=True):
    """Which invitations `GET /invitations` lists."""

    team: Annotated[str | None, Param("Invitations to this team")] = None


class ShownToken(msgspec.Struct, forbid_unknown_fields=True):
    """`POST /invitations/show`: what this token is an invitation to."""

    token: Token


class Acceptance(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """`POST /invitations/accept`.

    With a key its user joins the team; without one a new user signs up under the name `user`.
    """

    token: Token
    user: str | None = None


class Accepted(msgspec.Struct):
    """Who is in now, and in which team; `key` is the first key of a new user, shown this once."""

    user: str
    team: str | None = None
    role: str | None = None
    key: str | None = None
