"""A hub as seen by the rest of prime: one group of calls per resource.

Rarely used groups are imported on first use.
"""

import time
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import httpx

from prime_cli.client.api.connection import ATTEMPTS, CONNECT_SECONDS, HubConnection
from prime_cli.client.api.environments import Environments, Uploads, VersionDocuments
from prime_cli.client.api.transports import AppTransport, host_of
from prime_cli.core.config import STARTER_OWNER
from prime_cli.core.errors import NotFound
from prime_cli.wire.locks import Capabilities

if TYPE_CHECKING:
    from prime_cli.client.api.accounts import Accounts, Logins
    from prime_cli.client.api.administration import Administration, Invitations, Publishers
    from prime_cli.client.api.compute import Availability, Disks, Pods, SshKeys
    from prime_cli.client.api.evaluations import Evaluations
    from prime_cli.client.api.sandboxes import Sandboxes
    from prime_cli.client.api.secrets import Secrets

Transport = httpx.BaseTransport
"""A transport for requests, for callers that pass one."""


class HubClient:
    """Calls to the hub at `base_url` (an origin: no trailing slash, no `/api/v1`).

    `transport` is the way to it (None: a socket; an AppTransport: the hub in this process) and
    `outside` the way to other hosts that the hub names; `key` is sent to the hub's own origin only,
    and errors name it with its `key_source`. `upstream` is the hub to fall back to for what this
    one lacks, `box` returns the hub in the box if this is another one. `attempts`,
    `connect_seconds` and `sleep` are those of Connection.
    """

    def __init__(
        self,
        base_url: str,
        *,
        key: str | None = None,
        key_source: str = "",
        transport: Transport | None = None,
        outside: Transport | None = None,
        upstream: "HubClient | None" = None,
        box: Callable[[], "HubClient"] | None = None,
        attempts: int = ATTEMPTS,
        connect_seconds: float = CONNECT_SECONDS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._connection = HubConnection(
            base_url,
            key=key,
            key_source=key_source,
            transport=transport,
            outside=outside,
            attempts=attempts,
            connect_seconds=connect_seconds,
            sleep=sleep,
        )
        self._in_process = isinstance(transport, AppTransport)
        self._box = box
        self.upstream = upstream
        self.environments = Environments(self._connection, lambda: self.capabilities().features)
        self.uploads = Uploads(self._connection)
        self.documents = VersionDocuments(self._connection)

    @cached_property
    def accounts(self) -> "Accounts":
        """Users, teams and keys."""
        from prime_cli.client.api.accounts import Accounts

        return Accounts(self._connection)

    @cached_property
    def administration(self) -> "Administration":
        """Users, teams and keys of everybody, for admins."""
        from prime_cli.client.api.administration import Administration

        return Administration(self._connection)

    @cached_property
    def invitations(self) -> "Invitations":
        """Invitations that somebody got."""
        from prime_cli.client.api.administration import Invitations

        return Invitations(self._connection)

    @cached_property
    def publishers(self) -> "Publishers":
        """CI jobs that may publish."""
        from prime_cli.client.api.administration import Publishers

        return Publishers(self._connection)

    @cached_property
    def logins(self) -> "Logins":
        """Logins by a browser."""
        from prime_cli.client.api.accounts import Logins

        return Logins(self._connection)

    @cached_property
    def secrets(self) -> "Secrets":
        """Secrets and variables of owners and environments."""
        from prime_cli.client.api.secrets import Secrets

        return Secrets(self._connection)

    @cached_property
    def availability(self) -> "Availability":
        """Machines and disks available for rent."""
        from prime_cli.client.api.compute import Availability

        return Availability(self._connection)

    @cached_property
    def pods(self) -> "Pods":
        """Rented machines."""
        from prime_cli.client.api.compute import Pods

        return Pods(self._connection)

    @cached_property
    def sandboxes(self) -> "Sandboxes":
        """Places where an environment runs code."""
        from prime_cli.client.api.sandboxes import Sandboxes

        return Sandboxes(self._connection)

    @cached_property
    def disks(self) -> "Disks":
        """Disks that outlive pods."""
        from prime_cli.client.api.compute import Disks

        return Disks(self._connection)

    @cached_property
    def ssh_keys(self) -> "SshKeys":
        """The public keys that open pods."""
        from prime_cli.client.api.compute import SshKeys

        return SshKeys(self._connection)

    @cached_property
    def evaluations(self) -> "Evaluations":
        """Evaluations and their samples."""
        from prime_cli.client.api.evaluations import Evaluations
        from prime_cli.wire.evaluations import FEATURE

        return Evaluations(self._connection, lambda: FEATURE in self.capabilities().features)

    @property
    def base_url(self) -> str:
        """The hub's origin."""
        return str(self._connection.base_url)

    @property
    def host(self) -> str:
        """The hub's host, with the port where one is named."""
        return host_of(self._connection.base_url)

    @property
    def in_process(self) -> bool:
        """Whether the hub answers without a connection."""
        return self._in_process

    @property
    def has_key(self) -> bool:
        """Whether requests carry a key."""
        return self._connection.has_key

    def of(self, owner: str) -> "HubClient":
        """The hub that has this owner's environments: the starters never leave the box."""
        if owner == STARTER_OWNER and self._box is not None:
            return self._box()
        return self

    @cached_property
    def _capabilities(self) -> Capabilities:
        try:
            return self._connection.call("GET", "/capabilities").read(Capabilities)
        except NotFound:
            return Capabilities(hub=self.base_url, version="")

    def capabilities(self) -> Capabilities:
        """What the hub offers beyond the public wire; no features if it does not say."""
        return self._capabilities

    def close(self) -> None:
        """Close the connections to the hub and to its upstream."""
        self._connection.close()
        if self.upstream is not None:
            self.upstream.close()
