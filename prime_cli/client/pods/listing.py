"""Pods as listed and shown, and how their machines, places, prices and times are written."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from prime_cli.client.api.client import HubClient
from prime_cli.core.formatting import format_usd
from prime_cli.wire import pods as wire
from prime_cli.wire.offers import GpuOffer
from prime_cli.wire.pods import Addresses, Attached, Pod, PodState, PortMapping
from prime_cli.wire.queries import ListPage, PageQuery

# --- Words ---


def gpu_words(name: str, count: int) -> str:
    """`A100_80GB x2`."""
    return f"{name} x{count}"


def moment(text: str | None) -> datetime | None:
    """The time of an ISO 8601 text, in UTC; None for anything else."""
    try:
        when = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)


def timestamp(text: str) -> str:
    """A hub's time to the second, in UTC, ending in `Z`; invalid ones are unchanged."""
    when = moment(text)
    return text if when is None else f"{when:%Y-%m-%dT%H:%M:%SZ}"


def place_words(country: str | None, data_center: str | None) -> str:
    """`US (US-KS-2)`, or as much of that as is known; empty if nothing is."""
    return f"{country} ({data_center})" if country and data_center else country or data_center or ""


def place_of(offer: GpuOffer) -> str:
    """`US (US-KS-2)`, or as much of that as is known; empty for a local machine."""
    return place_words(offer.country, offer.data_center)


def hourly(price: float | None) -> str:
    """`$1.65/h` for a price in USD, or that it is unknown."""
    return "a price that is not known" if price is None else f"{format_usd(price)}/h"


# --- Pods ---

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


def list_pods(hub: HubClient, query: PageQuery) -> ListPage[ListedPod]:
    """Existing pods, oldest first; raises NotLoggedIn if the hub does not know the user."""
    page = hub.pods.page(offset=query.offset, limit=query.limit)
    oldest_first = sorted(page.data, key=lambda pod: pod.created_at)
    return ListPage([*map(listed, oldest_first)], page.total_count, query.offset, query.limit)


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
    """The hourly cost of running pods in USD; unknown prices count as 0."""
    return sum(pod.price_per_hour or 0.0 for pod in pods if pod.runs)


UNKNOWN = "N/A"
"""How the official client writes unknown values."""

_HOUR = 3600


def read_current(hub: HubClient, pod: Pod) -> Pod:
    """The pod with its current state from the hub."""
    states = hub.pods.states([pod.id])
    return updated(pod, states[0]) if states else pod


def updated(pod: Pod, state: PodState) -> Pod:
    """The pod updated with its state; what that omits stays."""
    newer: dict[str, Any] = {
        name: value
        for name in wire.STATE_FIELDS
        if (value := getattr(state, name)) not in (None, "")
    }
    return msgspec.structs.replace(pod, **newer)


class PodPort(msgspec.Struct, frozen=True):
    """A port of a pod, and its address."""

    protocol: str
    external: str
    internal: str
    description: str | None
    used_by: str | None


class PodDisk(msgspec.Struct, frozen=True):
    """A disk of a pod; `size` is in GB."""

    id: str
    type: str | None
    status: str | None
    size: int | str | None
    mount_path: str | None


class PodDetails(msgspec.Struct, frozen=True, kw_only=True):
    """A pod, without what is unknown from `cost_per_hour` on.

    `stop_at`, `price_per_hour` (USD), `billed` (USD, about), `nodes` and `started_again` are ours.
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
    attached_resources: list[PodDisk] | UnsetType = UNSET
    started_again: str | UnsetType = UNSET


def details(pod: Pod, now: datetime) -> PodDetails:
    """A pod by itself; `now` (aware) is when it is billed until."""
    progress = pod.installation_progress
    return PodDetails(
        id=pod.id,
        status=pod.shown_status,
        name=pod.name,
        team_id=pod.team_id,
        provider=pod.provider_type,
        gpu=gpu_words(pod.gpu_name, pod.gpu_count),
        image=image_of(pod),
        created_at=timestamp(pod.created_at),
        ip=join_addresses(pod.ip),
        ssh=join_addresses(pod.ssh_connection),
        stop_at=timestamp(pod.stop_at) if pod.stop_at else None,
        price_per_hour=pod.price_hr,
        billed=billed_so_far(pod, now),
        nodes=pod.nodes,
        cost_per_hour=pod.price_hr or UNSET,
        installation_status=pod.installation_status or UNSET,
        installation_progress=UNSET if progress is None else progress,
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


def image_of(pod: Pod) -> str | None:
    """The name of its image, if the hub says it."""
    return pod.environment_type if isinstance(pod.environment_type, str) else None


def join_addresses(addresses: Addresses) -> str:
    """The addresses of all nodes that have one, else `N/A`."""
    several = [addresses] if isinstance(addresses, str) else addresses or []
    return ", ".join(each for each in several if each) or UNKNOWN


def _port(port: PortMapping) -> PodPort:
    return PodPort(port.protocol, port.external, port.internal, port.description, port.used_by)


def _disk(disk: Attached) -> PodDisk:
    return PodDisk(
        str(disk.id), disk.resource_type, disk.status, disk.size, disk.mount_path or None
    )
