"""Pods as `prime pods list` shows them, in the names of the official client's JSON."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from prime_cli.api.client import HubClient
from prime_cli.wire import pods as wire
from prime_cli.wire.pods import Pod

RUNNING = frozenset({wire.PROVISIONING, wire.PENDING, wire.INSTALLING, wire.ACTIVE, wire.UNKNOWN})
"""Statuses in which a pod may be billed."""


@dataclass(frozen=True)
class ListedPod:
    """A pod; `stop_at`, `price_per_hour` (USD, of all its nodes) and `nodes` are ours."""

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
    """Some of the pods that are there, the oldest first."""

    pods: Sequence[ListedPod]
    total_count: int
    offset: int
    limit: int

    @property
    def more(self) -> int:
        """How many pods come after these."""
        return max(0, self.total_count - self.offset - len(self.pods))


def list_pods(hub: HubClient, *, offset: int = 0, limit: int = 100) -> PodListing:
    """The pods of one page; raises NotLoggedIn where the hub does not know who asks."""
    page = hub.pods.page(offset=offset, limit=limit)
    oldest_first = sorted(page.data, key=lambda pod: pod.created_at)
    return PodListing([*map(listed, oldest_first)], page.total_count, offset, limit)


def listed(pod: Pod) -> ListedPod:
    """A pod as it is shown."""
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


def gpu_words(name: str, count: int) -> str:
    """`A100_80GB x2`."""
    return f"{name} x{count}"


def hourly_price(pods: Iterable[ListedPod]) -> float:
    """What those that run cost per hour in USD, as far as prices are known."""
    return sum(pod.price_per_hour or 0.0 for pod in pods if pod.runs)


def moment(text: str | None) -> datetime | None:
    """The point in time of an ISO 8601 text, in UTC; None for any other."""
    try:
        when = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)


def timestamp(text: str) -> str:
    """A time of a hub to the second, in UTC, ending in `Z`; what is none stays as it is."""
    when = moment(text)
    return text if when is None else f"{when:%Y-%m-%dT%H:%M:%SZ}"
