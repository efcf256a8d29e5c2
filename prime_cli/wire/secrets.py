"""Secrets and variables on the wire, after the published schema.

A secret's value comes back in `OpenedSecrets` only, which is ours: official clients never ask.

Null and missing are the same. `id`s are the hub's.
"""

from typing import Annotated

import msgspec

from prime_cli.wire.queries import Limit, Offset, Param

SecretName = Annotated[str, msgspec.Meta(pattern="^[A-Z][A-Z0-9_]*$", min_length=1, max_length=255)]
"""The usual spelling of environment variables."""
Value = Annotated[str, msgspec.Meta(min_length=1, max_length=96 * 1024)]
"""A file of 64 KiB fits, encoded as base64."""
Description = Annotated[str, msgspec.Meta(max_length=500)]


class NewSecret(msgspec.Struct, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """`POST /secrets/` and `POST /environmentshub/{id}/secrets`."""

    name: SecretName
    value: Value
    description: Description | None = None
    is_file: bool = False
    team_id: str | None = None


class SecretChange(msgspec.Struct, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """`PATCH` of a secret: only the fields that are set change."""

    name: SecretName | None = None
    value: Value | None = None
    description: Description | None = None


class Secret(msgspec.Struct, rename="camel"):
    """A secret without its value; `source` is `environment`, or `global` for an owner's."""

    id: str
    name: str
    source: str = "global"
    description: str | None = None
    is_file: bool = False
    user_id: str | None = None
    team_id: str | None = None
    created_at: str = ""
    updated_at: str = ""


class SecretPage(msgspec.Struct):
    """`GET /secrets/`."""

    data: list[Secret]
    total_count: int
    offset: int = 0
    limit: int = 100


class SecretQuery(msgspec.Struct, frozen=True):
    """Whose secrets `GET /secrets` lists."""

    team_id: Annotated[str | None, Param("Use this team instead of the caller", name="teamId")] = (
        None
    )
    offset: Offset = 0
    limit: Limit = 100


class SecretLink(msgspec.Struct, rename="camel"):
    """An owner's secret that is linked to an environment."""

    id: str
    secret_id: str
    secret_name: str
    environment_id: str
    created_at: str


class NewVariable(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """`POST /environmentshub/{id}/variables`."""

    name: SecretName
    value: Annotated[str, msgspec.Meta(max_length=96 * 1024)]
    description: Description | None = None


class VariableChange(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """`PATCH` of a variable: only the fields that are set change."""

    name: SecretName | None = None
    value: Annotated[str, msgspec.Meta(max_length=96 * 1024)] | None = None
    description: Description | None = None


class EnvironmentVariable(msgspec.Struct, rename="camel"):
    """A variable with its value."""

    id: str
    name: str
    value: str
    description: str | None = None
    created_at: str = ""
    updated_at: str = ""


class OpenedSecrets(msgspec.Struct, frozen=True):
    """`POST /environmentshub/{id}/secrets/open`: values by name, for a run of the environment.

    `withheld` are the names of linked secrets whose owner the caller does not act for.
    """

    secrets: dict[str, str] = {}
    variables: dict[str, str] = {}
    withheld: list[str] = []


class Done(msgspec.Struct):
    """The answer to a deletion; old clients require an object."""

    success: bool = True
