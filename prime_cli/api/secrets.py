"""Secrets of a user, a team or an environment, and an environment's variables."""

from collections.abc import Sequence
from typing import Protocol

from prime_cli.api.accounts import fetch_all
from prime_cli.api.connection import HubConnection
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


class ItemStore(Protocol):
    """One place that keeps named values; every method may raise NotFound or NotAllowed."""

    def list(self) -> Sequence[Item]:
        """All of them, by name; a secret comes without its value."""
        ...

    def create(self, name: str, value: str, description: str | None) -> Item:
        """Store a new one; raises Conflict if the name is taken."""
        ...

    def update(
        self,
        item_id: str,
        *,
        name: str | None = None,
        value: str | None = None,
        description: str | None = None,
    ) -> Item:
        """Change what is given."""
        ...

    def delete(self, item_id: str) -> None:
        """Delete it."""
        ...


class OwnerSecrets:
    """The secrets of the key's user, or of the team with this id."""

    def __init__(self, connection: HubConnection, team_id: str | None) -> None:
        self._connection = connection
        self._team_id = team_id

    def list(self) -> Sequence[Secret]:
        return fetch_all(self._page)

    def create(self, name: str, value: str, description: str | None) -> Secret:
        body = NewSecret(name, value, description, team_id=self._team_id)
        return self._connection.call("POST", "/secrets/", body=body).read(Secret)

    def update(
        self,
        item_id: str,
        *,
        name: str | None = None,
        value: str | None = None,
        description: str | None = None,
    ) -> Secret:
        body = SecretChange(name, value, description)
        answer = self._connection.call(
            "PATCH", f"/secrets/{item_id}", query=self._query, body=body, repeatable=True
        )
        return answer.read(Secret)

    def delete(self, item_id: str) -> None:
        self._connection.call("DELETE", f"/secrets/{item_id}", query=self._query)

    @property
    def _query(self) -> dict[str, str | int | None]:
        return {"teamId": self._team_id}

    def _page(self, *, offset: int, limit: int) -> SecretPage:
        # The public hub has no pages of them: it is not known to take more than the team.
        query = {**self._query, "offset": offset or None}
        answer = self._connection.call("GET", "/secrets/", query=query)
        rows = answer.convert(answer.body.get("data", []), _Secrets)
        return SecretPage(rows, answer.convert(answer.body.get("total_count", len(rows)), int))


class EnvironmentSecrets:
    """The secrets of the environment with this id: its own, and linked ones of an owner."""

    def __init__(self, connection: HubConnection, environment_id: str) -> None:
        self._connection = connection
        self._path = f"/environmentshub/{environment_id}/secrets"

    def list(self) -> Sequence[Secret]:
        return self._connection.call("GET", self._path).read(_Secrets)

    def create(self, name: str, value: str, description: str | None) -> Secret:
        body = NewSecret(name, value, description)
        return self._connection.call("POST", self._path, body=body).read(Secret)

    def update(
        self,
        item_id: str,
        *,
        name: str | None = None,
        value: str | None = None,
        description: str | None = None,
    ) -> Secret:
        body = SecretChange(name, value, description)
        answer = self._connection.call(
            "PATCH", f"{self._path}/{item_id}", body=body, repeatable=True
        )
        return answer.read(Secret)

    def delete(self, item_id: str) -> None:
        self._connection.call("DELETE", f"{self._path}/{item_id}")

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


class EnvironmentVariables:
    """The variables of the environment with this id; their values are shown."""

    def __init__(self, connection: HubConnection, environment_id: str) -> None:
        self._connection = connection
        self._path = f"/environmentshub/{environment_id}/variables"

    def list(self) -> Sequence[EnvironmentVariable]:
        return self._connection.call("GET", self._path).read(_Variables)

    def create(self, name: str, value: str, description: str | None) -> EnvironmentVariable:
        body = NewVariable(name, value, description)
        return self._connection.call("POST", self._path, body=body).read(EnvironmentVariable)

    def update(
        self,
        item_id: str,
        *,
        name: str | None = None,
        value: str | None = None,
        description: str | None = None,
    ) -> EnvironmentVariable:
        body = VariableChange(name, value, description)
        answer = self._connection.call(
            "PATCH", f"{self._path}/{item_id}", body=body, repeatable=True
        )
        return answer.read(EnvironmentVariable)

    def delete(self, item_id: str) -> None:
        self._connection.call("DELETE", f"{self._path}/{item_id}")


# In the classes, `list` is a method.
_Secrets = list[Secret]
_Variables = list[EnvironmentVariable]


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
