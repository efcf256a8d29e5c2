"""What this machine is, as one offer."""

import os
import shutil
import sys
from pathlib import Path

from prime_cli.hub.compute.local.gpus import Gpus
from prime_cli.hub.compute.local.limits import this_machine
from prime_cli.wire.offers import DiskOffer, GpuOffer, Prices, Spec

CLOUD_ID = "local"
PROVIDER = "local"
CPU_NODE = "CPU_NODE"
_GB = 10**9
_SHARED = "of this machine, shared by its pods and all else that runs here"
_LOOSE = "no pod is held to it"
_HELD = "a pod is held to what it asks for"


def offer_of(
    folder: Path, gpus: Gpus, *, taken: bool, held: frozenset[str] = frozenset()
) -> GpuOffer:
    """The machine that has `folder`, with its GPUs where it has any; `taken` by another pod.

    Of what pods are `held` to (`cpu`, `memory`) a part may be chosen; the default is all that there
    is for pods. It has its own system, so that there are no images; whether it is secure nobody can
    say.
    """
    about = gpus.unnamed
    disk = shutil.disk_usage(_existing(folder))
    return GpuOffer(
        cloud_id=CLOUD_ID,
        gpu_type=gpus.type or CPU_NODE,
        gpu_count=len(gpus.indices) or 1,
        gpu_memory=gpus.memory,
        socket=gpus.socket or "PCIe",
        provider=PROVIDER,
        disk=_have(disk.free // _GB, about),
        vcpu=_choose(vcpus(), about) if "cpu" in held else _have(vcpus(), about),
        memory=_choose(_for_pods(), about) if "memory" in held else _have(memory(), about),
        stock_status="Unavailable" if taken else "Available",
        prices=Prices(currency="USD", on_demand=0.0, is_variable=False),
        provisioning_time=0,
        is_spot=False,
    )


def disk_offer_of(folder: Path) -> DiskOffer:
    """Folders on the disk that has `folder`."""
    disk = shutil.disk_usage(_existing(folder))
    return DiskOffer(
        provider=PROVIDER,
        cloud_id=CLOUD_ID,
        spec=Spec(
            min_count=1,
            default_count=1,
            max_count=max(1, disk.total // _GB),
            price_per_unit=0.0,
            step=1,
            additional_info="a folder on this machine's disk, which is not held to its size",
        ),
        is_multinode=False,
    )


def vcpus() -> int:
    """The CPUs that a process may use here."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory() -> int:
    """The memory of this machine in GB."""
    if sys.platform == "win32":
        return 0
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // _GB


def disk_size(folder: Path) -> int:
    """The size in GB of the disk that has `folder`, used or not."""
    return shutil.disk_usage(_existing(folder)).total // _GB


def _for_pods() -> int:
    return max(1, this_machine().pods.memory // _GB)


def _have(count: int, about: str | None) -> Spec:
    words = "; ".join(filter(None, (_SHARED, _LOOSE, about)))
    return Spec(default_count=count, default_included_in_price=True, additional_info=words)


def _choose(most: int, about: str | None) -> Spec:
    words = "; ".join(filter(None, (_SHARED, _HELD, about)))
    return Spec(
        min_count=1,
        default_count=most,
        max_count=most,
        price_per_unit=0.0,
        step=1,
        default_included_in_price=True,
        additional_info=words,
    )


def _existing(folder: Path) -> Path:
    return next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
