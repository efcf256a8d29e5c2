"""Secrets of a user, a team or an environment, and an environment's variables."""

import builtins
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import msgspec

from prime_cli.client.api.accounts import fetch_all
from prime_cli.client.api.connection import HubConnection
from prime_cli.client.api.transports import Query
from prime_cli.wire.secrets import (
    EnvironmentVariable,
    NewSecret,
    NewVariable,
    OpenedSecrets,
    Secret,
    SecretChange,
    SecretLink,
    SecretPage,
    VariableChange,
)

OPEN_FEATURE = "open-secrets"
"""The feature by which our hubs announce that they give secrets to runs."""

Item = Secret | EnvironmentVariable


class ItemStore(ABC):
    """One place that keeps named values; every method may raise NotFound or NotAllowed.

    `path` is where the hub has them, with `query` for single ones.
    """

    kind: ClassVar[type[Item]] = Secret
    change: ClassVar[type[SecretChange | VariableChange]] = SecretChange

    def __init__(self, connection: HubConnection, path: str, query: Query | None = None) -> None:
        self._connection = connection
        self._path = path
        self._query = query

    @abstractmethod
    def list(self) -> Sequence[Item]:
        """All of them, by name; a secret comes without its value."""

    def create(self, name: str, value: str, description: str | None) -> Item:
        """Store a new one; raises Conflict if the name is taken."""
        body = self._new(name, value, description)
        return self._connection.call("POST", self._path, body=body).read(self.kind)

    def update(
        self,
        item_id: str,
        *,
        name: str | None = None,
        value: str | None = None,
        description: str | None = None,
    ) -> Item:
        """Change what is given."""
        body = self.change(name, value, description)
        answer = self._connection.call(
            "PATCH", self._place(item_id), query=self._query, body=body, repeatable=True
        )
        return answer.read(self.kind)

    def delete(self, item_id: str) -> None:
        """Delete it."""
        self._connection.call("DELETE", self._place(item_id), query=self._query)

    def _new(self, name: str, value: str, description: str | None) -> msgspec.Struct:
        """The body that creates one."""
        return NewSecret(name, value, description)

    def _place(self, item_id: str) -> str:
        return f"{self._path.rstrip('/')}/{item_id}"


class OwnerSecrets(ItemStore):
    """The secrets of the key's user, or of the team with this id."""

    def __init__(self, connection: HubConnection, team_id: str | None) -> None:
        super().__init__(connection, "/secrets/", {"teamId": team_id})
        self._team_id = team_id

    def list(self) -> Sequence[Secret]:
        return fetch_all(self._page)

    def _new(self, name: str, value: str, description: str | None) -> msgspec.Struct:
        return NewSecret(name, value, description, team_id=self._team_id)

    def _page(self, *, offset: int, limit: int) -> SecretPage:
        # The public hub has no pages of them: it is not known to take more than the team.
        query: Query = {"teamId": self._team_id, "offset": offset or None}
        answer = self._connection.call("GET", self._path, query=query)
        rows = answer.convert(answer.body.get("data", []), builtins.list[Secret])
        return SecretPage(rows, answer.convert(answer.body.get("total_count", len(rows)), int))


class EnvironmentSecrets(ItemStore):
    """The secrets of the environment with this id: its own, and linked ones of an owner."""

    def __init__(self, connection: HubConnection, environment_id: str) -> None:
        super().__init__(connection, f"/environmentshub/{environment_id}/secrets")

    def list(self) -> Sequence[Secret]:
        return self._connection.call("GET", self._path).read(builtins.list[Secret])

    def link(self, secret_id: str) -> SecretLink:
        """Give the environment an owner's secret; again is the same."""
        answer = self._connection.call("POST", f"{self._path}/link/{secret_id}", body={})
        return answer.read(SecretLink)

    def open(self) -> OpenedSecrets:
        """All values, for a run; on hubs with OPEN_FEATURE, which record it."""
        return self._connection.call("POST", f"{self._path}/open").read(OpenedSecrets)

    def unlink(self, secret_id: str) -> None:
        """Take it away; the secret stays its owner's."""
        self._connection.call("DELETE", f"{self._path}/link/{secret_id}")


class EnvironmentVariables(ItemStore):
    """The variables of the environment with this id; their values are shown."""

    kind = EnvironmentVariable
    change = VariableChange

    def __init__(self, connection: HubConnection, environment_id: str) -> None:
        super().__init__(connection, f"/environmentshub/{environment_id}/variables")

    def list(self) -> Sequence[EnvironmentVariable]:
        return self._connection.call("GET", self._path).read(builtins.list[EnvironmentVariable])

    def _new(self, name: str, value: str, description: str | None) -> msgspec.Struct:
        return NewVariable(name, value, description)


class Secrets:
    """What a hub keeps for an owner or an environment."""

    def __init__(self, connection: HubConnection) -> None:
        self._connection = connection

    def of_owner(self, team_id: str | None = None) -> OwnerSecrets:
        """Those of the key's user, or of a team."""
        return OwnerSecrets(self._connection, team_id)

    def of_environment(self, environment_id: str) -> EnvironmentSecrets:
        """Those of an environment."""
        return EnvironmentSecrets(self._connection, environment_id)

    def variables_of(self, environment_id: str) -> EnvironmentVariables:
        """The variables of an environment."""
        return EnvironmentVariables(self._connection, environment_id)
