"""Machines of SkyPilot as offers, and pods on them as its tasks."""

import base64
import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from prime_cli.core.errors import UsageError
from prime_cli.hub.compute.machine import CPU_NODE, PUBLISHED
from prime_cli.hub.compute.provider import PodSpec
from prime_cli.wire.offers import GpuOffer, Prices, Spec

# --- GPU types ---

_MODELS = {model.lower(): model for model in PUBLISHED} | {
    "rtxa4000": "A4000",
    "rtxa4500": "A4500",
    "rtxa5000": "A5000",
    "rtxa6000": "A6000",
    "rtxpro6000": "RTX_PRO_6000B",
}
_NAME = re.compile(r"(?P<model>.+?)(?:-mega)?(?:-(?P<size>\d+)gb)?(?:-sxm)?")
_WITHOUT_SIZE = ("GB200", "GB300")
_SOME = 0.08
"""Catalogs count GB or GiB, with or without the driver's share."""


def published_type(name: str, memory: float | None) -> str | None:
    """The published type of a GPU, from SkyPilot's name (`A100-80GB-SXM`) and, if known, its GB.

    None if there is no such type, or `memory` is of another model.
    """
    if name.upper() in _WITHOUT_SIZE:
        return name.upper()
    match = _NAME.fullmatch(name.lower())
    model = _MODELS.get(match["model"].replace("-", "")) if match else None
    if match is None or model is None:
        return None
    size = int(match["size"] or PUBLISHED[model][0])
    if size not in PUBLISHED[model] or (memory and abs(memory - size) > _SOME * size):
        return None
    return f"{model}_{size}GB"


def memory_of(published: str) -> int:
    """GB of a published type; 0 if its name does not say."""
    digits = published.rpartition("_")[2].removesuffix("GB")
    return int(digits) if digits.isdigit() else 0


# --- Machines ---

PROVIDER = "sky"
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


_ANY_VCPUS = Spec(min_count=1, max_count=1024, step=1)
_ANY_MEMORY = Spec(min_count=1, max_count=16384, step=1)


def _offer(*parts: str, gpu_type: str, count: int, price: float, **rest: Any) -> GpuOffer:
    return GpuOffer(
        cloud_id="/".join([PROVIDER, *parts]),
        gpu_type=gpu_type,
        gpu_count=count,
        gpu_memory=memory_of(gpu_type),
        provider=PROVIDER,
        prices=Prices(currency="USD", on_demand=price),
        **({"is_spot": False} | rest),
    )


def _cpu_offer(infra: str, pool: str) -> GpuOffer:
    vcpu = msgspec.structs.replace(_ANY_VCPUS, default_count=_VCPUS)
    rest = {"data_center": pool or None, "vcpu": vcpu, "memory": _ANY_MEMORY}
    return _offer(infra, gpu_type=CPU_NODE, count=1, price=0.0, **rest)


def _pool_offer(row: Mapping[str, Any], infra: str, pool: str, gpu_type: str) -> GpuOffer:
    count = int(row["accelerator_count"])
    name, price = f"{count}x{row['accelerator_name']}", row["price"] or 0.0
    rest = {"data_center": pool or None, "vcpu": _ANY_VCPUS, "memory": _ANY_MEMORY}
    return _offer(infra, name, gpu_type=gpu_type, count=count, price=price, **rest)


def _rented(
    row: Mapping[str, Any], infra: str, gpu_type: str, price: float, *, spot: bool
) -> tuple[GpuOffer, dict[str, Any]]:
    count, instance, region = int(row["accelerator_count"]), row["instance_type"], row["region"]
    place = f"{infra}/{region}" if region else infra
    name = instance or f"{count}x{row['accelerator_name']}"
    offer = _offer(
        *(place, name, "spot") if spot else (place, name),
        gpu_type=gpu_type,
        count=count,
        price=price,
        data_center=region or None,
        disk=Spec(min_count=1, default_count=_DISK_SIZE, max_count=16384, step=1),
        vcpu=Spec(default_count=_whole(row["cpu_count"])),
        memory=Spec(default_count=_whole(row["memory"])),
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


# --- Tasks ---

DOCKER = "docker:"
_MOST = 96 * 1024
"""Linux takes 128 KiB in one variable, and base64 adds a third."""

_KEYS = """\
mkdir -p "$login/.ssh"
touch "$login/.ssh/authorized_keys"
printf '%s' "$PRIME_AUTHORIZED_KEYS" | base64 -d >>"$login/.ssh/authorized_keys"
"""
_VARIABLES = """\
printf '%s' "$PRIME_ENVIRONMENT" | base64 -d >"$HOME/.prime_environment"
touch "$login/.bashrc"
if ! grep -qxF "$line" "$login/.bashrc"; then
    { printf '%s\\n' "$line"; cat "$login/.bashrc"; } >"$HOME/.prime_bashrc"
    cat "$HOME/.prime_bashrc" >"$login/.bashrc"
    rm "$HOME/.prime_bashrc"
fi
"""
_HERE = "~/.prime_environment"
_IN_SLURM = '~/.sky_clusters/"$SKY_CLUSTER_NAME"/.prime_environment'
"""Slurm jobs have their own HOME, which SkyPilot names in sessions and removes at the end."""
_BEGIN = """\
set -eu
umask 077
login=$(getent passwd "$(id -un)" | cut -d: -f6)
"""


def validate_spec(order: PodSpec, machine: SkyOffer) -> None:
    """Raise UsageError naming the first request that SkyPilot or the cloud cannot meet."""
    where = machine.resources["infra"]
    if order.disks:
        raise UsageError(f"SkyPilot attaches no disks: `{order.disks[0].name}` cannot be attached")
    for wish, feature in (
        (order.nodes > 1 and f"{order.nodes} nodes", "multi_node"),
        (order.image and f"the image `{order.image}`", "docker_image"),
    ):
        if wish and feature in machine.refused:
            reason = machine.refused[feature]
            raise UsageError(f"{wish} is not available at `{where}`", detail=reason)
    if order.image and not _is_image(order.image):
        raise UsageError(
            f"`{order.image}` is not an image in a registry",
            hint=f"write it as `{DOCKER}nvidia/cuda:12.4.1-base-ubuntu22.04`",
        )
    for name, count, spec in (
        ("disk size", order.disk_size, machine.offer.disk),
        ("vCPUs", order.vcpus, machine.offer.vcpu),
        ("memory", order.memory, machine.offer.memory),
    ):
        if count is not None and spec.min_count is None and count != spec.default_count:
            raise UsageError(f"{name} cannot be chosen at `{where}`")
    if max(len(_environment(order)), len(_keys(order))) > _MOST:
        raise UsageError(f"The variables and keys of a pod have more than {_MOST // 1024} KiB")


def build_task(order: PodSpec, machine: SkyOffer, now: datetime) -> dict[str, Any]:
    """The task, as its YAML would be.

    User input is passed as base64 values, never in the script.
    """
    task: dict[str, Any] = {
        "name": order.tag,
        "num_nodes": order.nodes,
        "resources": _resources(order, machine),
        "setup": _setup(order, machine),
    }
    if order.variables:
        task["secrets"] = {"PRIME_ENVIRONMENT": _environment(order)}
    if machine.cloud == "slurm":
        minutes = max(1, math.ceil((order.stop_at - now).total_seconds() / 60))
        task["config"] = {"slurm": {"sbatch_options": {"time": str(minutes)}}}
    else:
        task["envs"] = {"PRIME_AUTHORIZED_KEYS": _keys(order)}
    return task


def ends_itself(machine: SkyOffer) -> bool:
    """Whether SkyPilot can end the machine at its deadline; otherwise Slurm's time limit does."""
    return machine.cloud != "slurm" and "autostop" not in machine.refused


def _resources(order: PodSpec, machine: SkyOffer) -> dict[str, Any]:
    resources = dict(machine.resources)
    if machine.is_pool:
        vcpus = order.vcpus or machine.offer.vcpu.default_count
        resources |= {"cpus": f"{vcpus}+"} if vcpus else {}
        resources |= {"memory": f"{order.memory}+"} if order.memory else {}
    elif order.disk_size is not None:
        resources["disk_size"] = order.disk_size
    if order.image:
        resources["image_id"] = order.image
    return resources


def _setup(order: PodSpec, machine: SkyOffer) -> str:
    """Put keys and variables into the login account.

    A Slurm account outlives its jobs, and so would keys: there SkyPilot's own opens the job.
    """
    slurm = machine.cloud == "slurm"
    script = _BEGIN if slurm else _BEGIN + _KEYS
    if not order.variables:
        return script
    file = _IN_SLURM if slurm else _HERE
    return f"{script}line={shlex.quote(f'test ! -r {file} || . {file}')}\n{_VARIABLES}"


def _keys(order: PodSpec) -> str:
    return _base64("".join(f"{key}\n" for key in order.authorized_keys))


def _environment(order: PodSpec) -> str:
    return _base64(_exports(order.variables)) if order.variables else ""


def _exports(variables: Mapping[str, str]) -> str:
    return "".join(f"export {name}={shlex.quote(text)}\n" for name, text in variables.items())


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _is_image(image: str) -> bool:
    name = image.removeprefix(DOCKER)
    return image.startswith(DOCKER) and bool(name) and name.isprintable() and " " not in name
