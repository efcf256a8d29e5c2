"""A provider whose machines are entries of a dict, and go as a test tells them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from prime_cli.core.errors import NotFound, PrimeError, UsageError
from prime_cli.hub.compute.provider import PodProvider, PodSpec, PodStatus, SshAddress
from prime_cli.wire.offers import DiskOffer, GpuOffer, Prices, Spec
from prime_cli.wire.pods import ACTIVE, PROVISIONING

A100 = GpuOffer(
    cloud_id="gpu_1x_a100",
    gpu_type="A100_80GB",
    gpu_count=1,
    gpu_memory=80,
    socket="PCIe",
    provider="paper",
    region="united_states",
    data_center="US-KS-2",
    country="US",
    disk=Spec(min_count=120, default_count=120, max_count=3000, price_per_unit=0.00014, step=1),
    vcpu=Spec(default_count=14),
    memory=Spec(default_count=125),
    security="secure_cloud",
    prices=Prices(currency="USD", on_demand=1.65),
    images=("ubuntu_22_cuda_12", "cuda_12_6_pytorch_2_7"),
    is_spot=False,
)
SPOT = GpuOffer(
    cloud_id="gpu_8x_h100_spot",
    gpu_type="H100_80GB",
    gpu_count=8,
    gpu_memory=80,
    socket="SXM5",
    provider="paper",
    region="eu_north",
    data_center="FIN-01",
    country="FI",
    disk=Spec(default_count=500),
    vcpu=Spec(default_count=176),
    memory=Spec(default_count=1480),
    security="secure_cloud",
    prices=Prices(currency="USD", on_demand=9.52),
    images=("ubuntu_22_cuda_12",),
    is_spot=True,
)
DISK = DiskOffer(
    provider="paper",
    cloud_id="disk_ks",
    data_center="US-KS-2",
    country="US",
    region="united_states",
    spec=Spec(min_count=1, default_count=100, max_count=4000, price_per_unit=0.0001),
)


@dataclass
class Machines:
    """Implements `hub.compute.provider.Provider`.

    A started pod is PROVISIONING until `arrive` or `fail`; with `at_once` it is up at once.
    With a `place` it is one of several providers of that name, each on a server of its own.
    """

    name: str = "paper"
    gpus: list[GpuOffer] = field(default_factory=lambda: [A100, SPOT])
    kinds_of_disks: list[DiskOffer] = field(default_factory=lambda: [DISK])
    at_once: bool = False
    most_nodes: int = 1
    refusal: PrimeError | None = None
    started: dict[str, PodSpec] = field(default_factory=dict)
    seen: dict[str, PodStatus] = field(default_factory=dict)
    disks: dict[str, int] = field(default_factory=dict)
    resumed: list[str] = field(default_factory=list)
    place: str | None = None

    def offers(self) -> Sequence[GpuOffer]:
        return self.gpus

    def disk_offers(self) -> Sequence[DiskOffer]:
        return self.kinds_of_disks

    def validate_spec(self, order: PodSpec) -> None:
        if order.nodes > self.most_nodes:
            raise UsageError("Machines of `paper` come one at a time")

    def start(self, order: PodSpec) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.started.setdefault(order.tag, order)
        self.seen.setdefault(order.tag, PodStatus(PROVISIONING, progress=0))
        if self.at_once:
            self.arrive(order.tag)

    def arrive(self, tag: str, address: SshAddress | None = None) -> None:
        """The pod is up."""
        where = address or SshAddress("root", "192.0.2.10", 2222)
        self.seen[tag] = PodStatus(ACTIVE, progress=100, addresses=(where,))

    def fail(self, tag: str, why: str) -> None:
        """The pod will not come up."""
        self.seen[tag] = replace(self.seen[tag], status="ERROR", failure=why)

    def inspect(self, tags: Collection[str]) -> Mapping[str, PodStatus]:
        return {tag: self.seen[tag] for tag in tags if tag in self.seen}

    def resume(self, tag: str) -> None:
        self.resumed.append(tag)
        if self.refusal is not None:
            raise self.refusal
        self.seen[tag] = PodStatus(PROVISIONING, progress=0)

    def list_tags(self, prefix: str) -> Collection[str]:
        return [tag for tag in self.seen if tag.startswith(prefix)]

    def end(self, tag: str) -> None:
        self.seen.pop(tag, None)

    def log(self, tag: str, lines: int) -> str:
        if tag not in self.started:
            raise NotFound(f"`{tag}` was never started")
        return "\n".join(["booting", "ready"][-lines:])

    def make_disk(self, tag: str, size: int) -> None:
        self.disks[tag] = size

    def remove_disk(self, tag: str) -> None:
        self.disks.pop(tag, None)

    def list_disk_tags(self, prefix: str) -> Collection[str]:
        return [tag for tag in self.disks if tag.startswith(prefix)]


def _is_a_provider(machines: Machines) -> PodProvider:
    """For mypy: what is needed of one is here."""
    return machines
