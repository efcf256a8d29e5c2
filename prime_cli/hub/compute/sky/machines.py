"""What SkyPilot can rent, as offers, and the `resources` of its tasks for each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from prime_cli.wire.offers import GpuOffer, Prices, Spec

# --- GPU types ---

_TYPES = {
    "A10": "A10_24GB", "A100": "A100_40GB", "A100-80GB": "A100_80GB",
    "A100-80GB-SXM": "A100_80GB", "A30": "A30_24GB", "A40": "A40_48GB", "B200": "B200_180GB",
    "B300": "B300_262GB", "GB200": "GB200", "GB300": "GB300", "GH200": "GH200_96GB",
    "H100": "H100_80GB", "H100-80GB": "H100_80GB", "H100-SXM": "H100_80GB",
    "H100-MEGA-80GB": "H100_80GB", "H200": "H200_141GB", "H200-SXM": "H200_141GB",
    "L4": "L4_24GB", "L40": "L40_48GB", "L40S": "L40S_48GB", "P100": "P100_16GB", "P4": "P4_8GB",
    "P40": "P40_24GB", "T4": "T4_16GB", "V100": "V100_16GB", "V100-32GB": "V100_32GB",
    "RTX3070": "RTX3070_8GB", "RTX3080": "RTX3080_10GB", "RTX3080-Ti": "RTX3080Ti_12GB",
    "RTX3090": "RTX3090_24GB", "RTX3090-Ti": "RTX3090Ti_24GB", "RTX4070-Ti": "RTX4070Ti_12GB",
    "RTX4080": "RTX4080_16GB", "RTX4090": "RTX4090_24GB", "RTX5090": "RTX5090_32GB",
    "RTX4000": "RTX4000_8GB", "RTX5000": "RTX5000_16GB", "RTX6000": "RTX6000_24GB",
    "RTX8000": "RTX8000_48GB", "RTX2000-Ada": "RTX2000Ada_16GB", "RTX4000-Ada": "RTX4000Ada_20GB",
    "RTX5000-Ada": "RTX5000Ada_32GB", "RTX6000-Ada": "RTX6000Ada_48GB", "A2000": "A2000_6GB",
    "RTXA4000": "A4000_16GB", "A4000": "A4000_16GB", "RTXA4500": "A4500_20GB",
    "RTXA5000": "A5000_24GB", "A5000": "A5000_24GB", "RTXA6000": "A6000_48GB",
    "A6000": "A6000_48GB", "RTXPRO6000": "RTX_PRO_6000B_96GB",
}  # fmt: skip
_TYPE_OF = {name.lower(): published for name, published in _TYPES.items()}
_SOME = 0.08
"""Catalogs count GB or GiB, with or without the driver's share."""


def published_type(name: str, memory: float | None) -> str | None:
    """The published type of a GPU, from SkyPilot's name and, if known, its GB.

    None if there is no such type, or `memory` is that of another model.
    """
    published = _TYPE_OF.get(name.lower())
    if published is None:
        return None
    size = memory_of(published)
    if memory and size and abs(memory - size) > _SOME * size:
        return None
    return published


def memory_of(published: str) -> int:
    """GB of a published type; 0 if its name does not say."""
    digits = published.rpartition("_")[2].removesuffix("GB")
    return int(digits) if digits.isdigit() else 0


# --- Machines ---

PROVIDER = "sky"
CPU_NODE = "CPU_NODE"
POOLS = ("slurm", "kubernetes", "ssh")
_VCPUS = 2
_DISK_SIZE = 256
"""GB; both are SkyPilot's defaults."""


@dataclass(frozen=True)
class SkyOffer:
    """An offer; `refused` are SkyPilot features that its cloud lacks, with its reasons."""

    offer: GpuOffer
    resources: Mapping[str, Any]
    refused: Mapping[str, str] = field(default_factory=dict)

    @property
    def cloud(self) -> str:
        """`aws`, `slurm`, `kubernetes`."""
        return str(self.resources["infra"]).partition("/")[0]

    @property
    def is_pool(self) -> bool:
        """Whether it belongs to an existing cluster, behind a server of its own."""
        return self.cloud in POOLS


def read_machines(rows: Sequence[Mapping[str, Any]]) -> list[SkyOffer]:
    """The machines of the driver's rows; GPUs without a published type are not offered."""
    found: dict[str, SkyOffer] = {}
    for row in rows:
        for machine in _of_row(row):
            found.setdefault(machine.offer.cloud_id, machine)
    return list(found.values())


def _of_row(row: Mapping[str, Any]) -> list[SkyOffer]:
    cloud, _, pool = str(row["infra"]).partition("/")
    infra = f"{cloud.lower()}/{pool}" if pool else cloud.lower()
    refused = dict(row.get("refused") or {})
    if "accelerator_name" not in row:
        return [SkyOffer(_cpu_offer(infra, pool), {"infra": infra}, refused)]
    name, count = str(row["accelerator_name"]), row["accelerator_count"]
    gpu_type = published_type(name, row["device_memory"])
    if gpu_type is None or count != int(count):
        return []
    if cloud.lower() in POOLS:
        resources = {"infra": infra, "accelerators": {name: int(count)}}
        return [SkyOffer(_pool_offer(row, infra, pool, gpu_type), resources, refused)]
    return [
        SkyOffer(*_rented(row, infra, gpu_type, price, spot=spot), refused)
        for spot, price in ((False, row["price"]), (True, row["spot_price"]))
        if price is not None
    ]


def _cpu_offer(infra: str, pool: str) -> GpuOffer:
    return GpuOffer(
        cloud_id=f"{PROVIDER}/{infra}",
        gpu_type=CPU_NODE,
        gpu_count=1,
        provider=PROVIDER,
        data_center=pool or None,
        vcpu=Spec(min_count=1, default_count=_VCPUS, max_count=1024, step=1),
        memory=Spec(min_count=1, max_count=16384, step=1),
        prices=Prices(currency="USD", on_demand=0.0),
        is_spot=False,
    )


def _pool_offer(row: Mapping[str, Any], infra: str, pool: str, gpu_type: str) -> GpuOffer:
    count = int(row["accelerator_count"])
    return GpuOffer(
        cloud_id=f"{PROVIDER}/{infra}/{count}x{row['accelerator_name']}",
        gpu_type=gpu_type,
        gpu_count=count,
        gpu_memory=memory_of(gpu_type),
        provider=PROVIDER,
        data_center=pool or None,
        vcpu=Spec(min_count=1, max_count=1024, step=1),
        memory=Spec(min_count=1, max_count=16384, step=1),
        prices=Prices(currency="USD", on_demand=row["price"] or 0.0),
        is_spot=False,
    )


def _rented(
    row: Mapping[str, Any], infra: str, gpu_type: str, price: float, *, spot: bool
) -> tuple[GpuOffer, dict[str, Any]]:
    count, instance, region = int(row["accelerator_count"]), row["instance_type"], row["region"]
    place = f"{infra}/{region}" if region else infra
    parts = [PROVIDER, place, instance or f"{count}x{row['accelerator_name']}"]
    offer = GpuOffer(
        cloud_id="/".join([*parts, "spot"] if spot else parts),
        gpu_type=gpu_type,
        gpu_count=count,
        gpu_memory=memory_of(gpu_type),
        provider=PROVIDER,
        data_center=region or None,
        disk=Spec(min_count=1, default_count=_DISK_SIZE, max_count=16384, step=1),
        vcpu=Spec(default_count=_whole(row["cpu_count"])),
        memory=Spec(default_count=_whole(row["memory"])),
        prices=Prices(currency="USD", on_demand=price),
        is_spot=spot,
    )
    resources: dict[str, Any] = {
        "infra": place,
        "accelerators": {str(row["accelerator_name"]): count},
        "use_spot": spot,
    }
    if instance:
        resources["instance_type"] = instance
    return offer, resources


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)
