"""A machine that pods share, as one offer."""

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec

from prime_cli.core.errors import UsageError
from prime_cli.hub.compute.gpus import Gpus
from prime_cli.hub.compute.provider import PodSpec
from prime_cli.wire.offers import DiskOffer, GpuOffer, Prices, Spec

CPU_NODE = "CPU_NODE"
_GB = 10**9
_SHARED = "of this machine, shared by its pods and all else that runs here"
_LOOSE = "no pod is held to it"
_HELD = "a pod is held to what it asks for"


@dataclass(frozen=True)
class Machine:
    """A provider's machine: CPUs, memory and disk in GB, GPUs.

    Pods are limited to their requested CPUs and memory if `is_held`, else not at all.
    """

    provider: str
    vcpus: int
    memory: int
    disk: int
    disk_free: int
    gpus: Gpus
    is_held: bool = False

    def offer(self, *, taken: bool, images: tuple[str, ...] = ()) -> GpuOffer:
        """The machine with all its GPUs, minus those `taken` by other pods.

        Whether it is secure is unknown.
        """
        about = self.gpus.unnamed
        spec = _choose if self.is_held else _have
        return GpuOffer(
            cloud_id=self.provider,
            gpu_type=self.gpus.type or CPU_NODE,
            gpu_count=len(self.gpus.indices) or 1,
            gpu_memory=self.gpus.memory,
            socket=self.gpus.socket or "PCIe",
            provider=self.provider,
            disk=self._room(about),
            vcpu=spec(self.vcpus, about),
            memory=spec(self.memory, about),
            stock_status="Unavailable" if taken else "Available",
            prices=Prices(currency="USD", on_demand=0.0, is_variable=False),
            provisioning_time=0,
            images=images,
            is_spot=False,
        )

    def _room(self, about: str | None) -> Spec:
        """What is free now, which is another number when a pod is asked for."""
        return msgspec.structs.replace(_have(self.disk_free, about), max_count=self.disk)

    def disk_offer(self, what: str) -> DiskOffer:
        """Room on the machine's disk, described by `what`."""
        return DiskOffer(
            provider=self.provider,
            cloud_id=self.provider,
            spec=Spec(
                min_count=1,
                default_count=1,
                max_count=max(1, self.disk),
                price_per_unit=0.0,
                step=1,
                additional_info=f"{what}, which is not held to its size",
            ),
            is_multinode=False,
        )

    def validate(self, order: PodSpec) -> None:
        """Raise UsageError for the first request beyond the machine's capacity."""
        if order.nodes > 1:
            raise UsageError(
                "This machine is a single node: `--nodes` needs a provider that has more"
            )
        for what, unit, wanted, there in (
            ("vCPUs", "", order.vcpus, self.vcpus),
            ("memory", " GB", order.memory, self.memory),
            ("disk", " GB", order.disk_size, self.disk),
        ):
            if wanted is not None and wanted > there:
                raise UsageError(f"This machine has {there}{unit} {what}, not {wanted}{unit}")


def this_machine(folder: Path, gpus: Gpus) -> Machine:
    """The machine that prime runs on, with the disk of `folder`, which need not exist."""
    there = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
    disk = shutil.disk_usage(there)
    return Machine("local", _vcpus(), _memory(), disk.total // _GB, disk.free // _GB, gpus)


def _vcpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory() -> int:
    if sys.platform == "win32":
        return 0
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // _GB


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
