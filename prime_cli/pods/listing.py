"""Pods as `prime pods list` and `status` show them, with the official client's JSON names."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from prime_cli.api.client import HubClient
from prime_cli.pods.formatting import gpu_words, moment, timestamp
from prime_cli.wire import pods as wire
from prime_cli.wire.pods import Addresses, Attached, Pod, PodState, PortMapping
from prime_cli.wire.queries import PageQuery

RUNNING = frozenset({wire.PROVISIONING, wire.PENDING, wire.INSTALLING, wire.ACTIVE, wire.UNKNOWN})
"""Statuses in which a pod may be billed."""


@dataclass(frozen=True)
class ListedPod:
    """A pod; `stop_at`, `price_per_hour` (USD, all nodes) and `nodes` are our additions."""

    id: str
    name: str | None
    gpu: str
    status: str
    created_at: str
    stop_at: str | None
    price_per_hour: float | None
    nodes: int

    @property
    def runs(self) -> bool:
        """Whether it may be billed now."""
        return self.status in RUNNING


@dataclass(frozen=True)
class PodListing:
    """One page of existing pods, oldest first."""

    pods: Sequence[ListedPod]
    total_count: int
    offset: int
    limit: int

    @property
    def more(self) -> int:
        """How many pods come after these."""
        return max(0, self.total_count - self.offset - len(self.pods))


def list_pods(hub: HubClient, query: PageQuery) -> PodListing:
    """The pods of one page; raises NotLoggedIn if the hub does not know the user."""
    page = hub.pods.page(offset=query.offset, limit=query.limit)
    oldest_first = sorted(page.data, key=lambda pod: pod.created_at)
    return PodListing([*map(listed, oldest_first)], page.total_count, query.offset, query.limit)


def listed(pod: Pod) -> ListedPod:
    """A pod for display."""
    return ListedPod(
        id=pod.id,
        name=pod.name,
        gpu=gpu_words(pod.gpu_name, pod.gpu_count),
        status=pod.shown_status,
        created_at=timestamp(pod.created_at),
        stop_at=timestamp(pod.stop_at) if pod.stop_at else None,
        price_per_hour=pod.price_hr,
        nodes=pod.nodes,
    )


def hourly_price(pods: Iterable[ListedPod]) -> float:
    """The hourly cost of running pods in USD, as far as prices are known."""
    return sum(pod.price_per_hour or 0.0 for pod in pods if pod.runs)


_NONE = "N/A"
_HOUR = 3600


class PodPort(msgspec.Struct, frozen=True):
    """A port of a pod, and its address."""

    protocol: str
    external: str
    internal: str
    description: str | None
    used_by: str | None


class AttachedDisk(msgspec.Struct, frozen=True):
    """A disk of a pod; `size` in GB."""

    id: str
    type: str | None
    status: str | None
    size: int | str | None
    mount_path: str | None


class PodDetails(msgspec.Struct, frozen=True, kw_only=True):
    """A pod. `stop_at`, `price_per_hour` (USD), `billed` (USD, about), `nodes` and `started_again`
    are ours.

    What is UNSET is left out of the JSON; `ip` and `ssh` are `N/A` where there is none yet.
    """

    id: str
    status: str
    name: str | None
    team_id: str | None
    provider: str
    gpu: str
    image: str | None
    created_at: str
    ip: str
    ssh: str
    stop_at: str | None
    price_per_hour: float | None
    billed: float | None
    nodes: int
    cost_per_hour: float | UnsetType = UNSET
    installation_status: str | UnsetType = UNSET
    installation_progress: int | UnsetType = UNSET
    installation_error: str | UnsetType = UNSET
    port_mappings: list[PodPort] | UnsetType = UNSET
    attached_resources: list[AttachedDisk] | UnsetType = UNSET
    started_again: str | UnsetType = UNSET


def read_details(hub: HubClient, pod: Pod, now: datetime) -> PodDetails:
    """The pod's current details from the hub."""
    states = hub.pods.states([pod.id])
    return details(updated(pod, states[0]) if states else pod, now)


def updated(pod: Pod, state: PodState) -> Pod:
    """The pod updated with its state; what that omits stays."""
    newer: dict[str, Any] = {
        name: value
        for name in wire.STATE_FIELDS
        if (value := getattr(state, name)) not in (None, "")
    }
    return msgspec.structs.replace(pod, **newer)


def details(pod: Pod, now: datetime) -> PodDetails:
    """The displayed details of a pod."""
    return PodDetails(
        id=pod.id,
        status=pod.shown_status,
        name=pod.name,
        team_id=pod.team_id,
        provider=pod.provider_type,
        gpu=gpu_words(pod.gpu_name, pod.gpu_count),
        image=pod.environment_type if isinstance(pod.environment_type, str) else None,
        created_at=timestamp(pod.created_at),
        ip=_shown(pod.ip),
        ssh=_shown(pod.ssh_connection),
        stop_at=timestamp(pod.stop_at) if pod.stop_at else None,
        price_per_hour=pod.price_hr,
        billed=billed_so_far(pod, now),
        nodes=pod.nodes,
        cost_per_hour=pod.price_hr or UNSET,
        installation_status=pod.installation_status or UNSET,
        installation_progress=_or_unset(pod.installation_progress),
        installation_error=pod.installation_failure or UNSET,
        port_mappings=[_port(each) for each in pod.prime_port_mapping or ()] or UNSET,
        attached_resources=[_disk(each) for each in pod.attached_resources or ()] or UNSET,
        started_again=timestamp(pod.started_again) if pod.started_again else UNSET,
    )


def billed_so_far(pod: Pod, now: datetime) -> float | None:
    """A pod's approximate cost in USD: its price for the time since it was requested."""
    begun = moment(pod.created_at)
    if begun is None or pod.price_hr is None:
        return None
    return round(pod.price_hr * max(0.0, (now - begun).total_seconds()) / _HOUR, 4)


def _or_unset(number: int | None) -> int | UnsetType:
    return UNSET if number is None else number


def _shown(addresses: Addresses) -> str:
    several = [addresses] if isinstance(addresses, str) else addresses or []
    return ", ".join(each for each in several if each) or _NONE


def _port(port: PortMapping) -> PodPort:
    return PodPort(port.protocol, port.external, port.internal, port.description, port.used_by)


def _disk(disk: Attached) -> AttachedDisk:
    path = disk.mount_path or None
    return AttachedDisk(str(disk.id), disk.resource_type, disk.status, disk.size, path)
