"""Secrets and variables on the wire, after the published schema; a secret's value never comes back.

Null and left out are the same. `id`s are the hub's.
"""

from typing import Annotated

import msgspec

from prime_cli.wire.queries import Limit, Offset, Param

SecretName = Annotated[str, msgspec.Meta(pattern="^[A-Z][A-Z0-9_]*$", min_length=1, max_length=255)]
"""As the names of environment variables are usually written."""
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
    """`PATCH` of a secret: what is given changes."""

    name: SecretName | None = None
    value: Value | None = None
    description: Description | None = None


class Secret(msgspec.Struct, rename="camel"):
    """A secret as it is shown; `source` is `environment`, or `global` for one of an owner."""

    id: str
    name: str
    source: str
    description: str | None
    is_file: bool
    user_id: str | None
    team_id: str | None
    created_at: str
    updated_at: str


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
    """An owner's secret that an environment is given."""

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
    """`PATCH` of a variable: what is given changes."""

    name: SecretName | None = None
    value: Annotated[str, msgspec.Meta(max_length=96 * 1024)] | None = None
    description: Description | None = None


class EnvironmentVariable(msgspec.Struct, rename="camel"):
    """A variable, value and all."""

    id: str
    name: str
    value: str
    description: str | None
    created_at: str
    updated_at: str


class Done(msgspec.Struct):
    """What a deletion answers; old clients want an object."""

    success: bool = True
