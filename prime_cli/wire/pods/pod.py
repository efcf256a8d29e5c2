"""Pods that are there, and how they are."""

import msgspec

from prime_cli.wire.pods.statuses import ACTIVE, FINISHED, INSTALLING, UNKNOWN

Addresses = str | list[str | None] | None
"""One text, or one for each node."""


class PortMapping(msgspec.Struct, rename="camel"):
    """A port of a pod, and where it is reached. Official clients want `description`."""

    internal: str
    external: str
    protocol: str
    used_by: str | None = None
    description: str | None = None


class Resources(msgspec.Struct, omit_defaults=True):
    """What a pod has, in GB and vCPUs."""

    memory: int | None = None
    disk: int | None = None
    shared_disk: int | None = None
    vcpus: int | None = None


class Attached(msgspec.Struct, rename="camel"):
    """A disk of a pod. Official clients want `size`, and the schema `resourceType`."""

    id: str | int
    resource_type: str = "DISK"
    status: str = "ATTACHED"
    type: str | None = None
    created_at: str | None = None
    size: int | str | None = None
    mount_path: str | None = None
    is_detachable: bool = True


class Pod(msgspec.Struct, rename="camel"):
    """`APIPodConfig`, with those of its names that somebody reads.

    `ssh_connection` is `user@host -p PORT`. `stop_at`, `nodes`, `started_again`, `host_keys`
    (lines as `ssh-ed25519 AAAA…`) and `ssh_config` (a file on this machine, of the hub in the box
    alone, with which the pod's id is a host) are ours, see FEATURE.
    """

    id: str
    gpu_name: str
    gpu_count: int
    status: str = UNKNOWN
    name: str | None = None
    user_id: str | None = None
    team_id: str | None = None
    wallet_id: str | None = None
    type: str | None = "HOSTED"
    provider_type: str = ""
    installation_status: str | None = None
    installation_failure: str | None = None
    installation_progress: int | None = None
    created_at: str = ""
    updated_at: str | None = None
    terminated_at: str | None = None
    socket: str | None = None
    price_hr: float | None = None
    environment_type: str | msgspec.UnsetType = msgspec.UNSET
    prime_port_mapping: list[PortMapping] | None = None
    ssh_connection: Addresses = None
    ip: Addresses = None
    resources: Resources | None = None
    attached_resources: list[Attached] | None = None
    is_spot: bool | None = None
    stop_at: str | None = None
    nodes: int = 1
    host_keys: list[str] = []
    started_again: str | None = None
    ssh_config: str | None = None

    @property
    def title(self) -> str:
        """Its name, else its id."""
        return self.name or self.id

    @property
    def shown_status(self) -> str:
        """The status as people read it: a pod that is up and not ready is INSTALLING."""
        installing = self.status == ACTIVE and self.installation_status not in (FINISHED, None)
        return INSTALLING if installing else self.status


class PodPage(msgspec.Struct):
    """`GET /pods`."""

    data: list[Pod] = []
    total_count: int = 0
    offset: int = 0
    limit: int = 100


class PodState(msgspec.Struct, rename="camel"):
    """`APIPodStatusResponse`, with `priceHr` and `primePortMapping`, which clients read too."""

    pod_id: str
    provider_type: str = ""
    status: str = UNKNOWN
    ssh_connection: Addresses = None
    ip: Addresses = None
    price_hr: float | None = None
    prime_port_mapping: list[PortMapping] | None = None
    installation_status: str | None = None
    installation_failure: str | None = None
    installation_progress: int | None = None


class PodStates(msgspec.Struct):
    """`GET /pods/status`: one item for each pod that was asked for and is there."""

    data: list[PodState] | None = []
