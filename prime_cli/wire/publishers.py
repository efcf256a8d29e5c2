"""Trusted publishers: CI jobs that publish without a key of their own; ours, not the public wire's.

A job's provider signs a token that says which repository and workflow it is of. The hub gives a
short-lived key for one that an owner trusts.
"""

from typing import Annotated

import msgspec

from prime_cli.wire.queries import Param

PUBLISHERS_FEATURE = "trusted-publishing"
"""The feature by which hubs announce them."""

ALL_ENVIRONMENTS = "*"

GITHUB = "https://token.actions.githubusercontent.com"
GITLAB = "https://gitlab.com"


class NewPublisher(msgspec.Struct, forbid_unknown_fields=True):
    """`POST /publishers`: who may publish `environment` (or all, `*`) of `owner`.

    `claims` of a token of `issuer` must match; in a pattern `*` stands for any text.
    """

    owner: str
    environment: str
    issuer: str
    claims: dict[str, str]


class Publisher(msgspec.Struct, kw_only=True):
    """A trusted publisher; all tokens must have the claims `pinned` of the first that matched."""

    id: str
    owner: str
    environment: str
    issuer: str
    claims: dict[str, str]
    pinned: dict[str, str]
    created_by: str
    created_at: str
    last_used_at: str | None = None


class PublisherList(msgspec.Struct):
    """`GET /publishers`."""

    publishers: list[Publisher]


class PublisherQuery(msgspec.Struct, frozen=True):
    """Whose publishers `GET /publishers` lists."""

    owner: Annotated[str | None, Param("Publishers of this user or team")] = None
    environment: Annotated[str | None, Param("Publishers of this environment of the owner")] = None


class MintRequest(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """`POST /publishers/mint-key`: the token of a job, and what it publishes.

    Without an `owner` it is the one whose publisher matches.
    """

    token: str
    environment: str
    owner: str | None = None


class MintedKey(msgspec.Struct):
    """A key that publishes that environment of the owner and nothing else, until `expires_at`."""

    key: str
    key_id: str
    owner: str
    environment: str
    publisher: str
    expires_at: str
