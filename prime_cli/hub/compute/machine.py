"""A machine that pods share as one offer, and its GPUs under the names of the published list."""

import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec

from prime_cli.core.errors import UsageError
from prime_cli.core.process import TimedOut, run
from prime_cli.hub.compute.provider import PodSpec
from prime_cli.wire.offers import DiskOffer, GpuOffer, Prices, Spec

# --- GPUs ---

_ASK = "--query-gpu=index,name,memory.total"
_SECONDS = 10.0
_TOLERANCE = 0.08
"""nvidia-smi reports what is available to programs: 15360 MiB for a T4 with 16 GB."""

PUBLISHED = {
    "A10": (24,), "A100": (40, 80), "A30": (24,), "A40": (48,), "B200": (180,), "B300": (262,),
    "RTX3070": (8,), "RTX3080": (10,), "RTX3080Ti": (12,), "RTX3090": (24,), "RTX3090Ti": (24,),
    "RTX4070Ti": (12,), "RTX4080": (16,), "RTX4080Ti": (16,), "RTX4090": (24,), "RTX5090": (32,),
    "H100": (80,), "H200": (141,), "GH200": (96,), "L4": (24,), "L40": (48,), "L40S": (48,),
    "RTX4000": (8,), "RTX5000": (16,), "RTX6000": (24,), "RTX8000": (48,), "RTX2000Ada": (16,),
    "RTX4000Ada": (20,), "RTX5000Ada": (32,), "RTX6000Ada": (48,), "A2000": (6,), "A4000": (16,),
    "A4500": (20,), "A5000": (24,), "A6000": (48,), "V100": (16, 32), "P100": (16,), "T4": (16,),
    "P4": (8,), "P40": (24,), "RTX_PRO_6000B": (96,),
}  # fmt: skip
"""`GPUType` of the published API: names and the GB of each."""

_NAMES = (
    (r"H100 (?:80GB HBM3|SXM5.*)", "H100", "SXM5"),
    (r"H100 PCIe", "H100", "PCIe"),
    (r"H200", "H200", "SXM5"),
    (r"H200 NVL", "H200", "PCIe"),
    (r"GH200 .*", "GH200", None),
    (r"B200", "B200", "SXM6"),
    (r"B300(?: SXM6.*)?", "B300", "SXM6"),
    (r"A100-SXM4-\d+GB", "A100", "SXM4"),
    (r"A100(?:-PCIE-\d+GB| \d+GB PCIe)", "A100", "PCIe"),
    (r"V100-SXM2-\d+GB", "V100", "SXM2"),
    (r"V100-SXM3-\d+GB", "V100", "SXM3"),
    (r"V100-PCIE-\d+GB", "V100", "PCIe"),
    (r"P100-SXM2-16GB", "P100", "SXM2"),
    (r"P100-PCIE-16GB", "P100", "PCIe"),
    (r"(A10|A30|A40|L4|L40|L40S|T4|P4|P40)", None, "PCIe"),
    (r"RTX (A2000|A4000|A4500|A5000|A6000)", None, "PCIe"),
    (r"Quadro (RTX [4568]000)", None, "PCIe"),
    (r"(RTX [2456]000 Ada)(?: Generation)?", None, "PCIe"),
    (r"GeForce (RTX (?:3070|3080(?: Ti)?|3090(?: Ti)?|4070 Ti|4080(?: Ti)?|4090|5090))",
     None, "PCIe"),
    (r"RTX PRO 6000 Blackwell .*", "RTX_PRO_6000B", "PCIe"),
)  # fmt: skip
"""nvidia-smi's names, without the maker; the group, if any, is the published name."""


_ROW = re.compile(r"^\s*(\d+)\s*,\s*(.+?)\s*,\s*(.*?)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Gpus:
    """Equal GPUs: their local numbers, published type, GB of each, and socket.

    `unnamed` is a sentence about those without a published name, which are not offered.
    """

    indices: tuple[str, ...] = ()
    type: str | None = None
    memory: int = 0
    socket: str | None = None
    unnamed: str | None = None


def find_gpus() -> Gpus:
    """What nvidia-smi reports; none if it is missing, or does not answer within seconds."""
    try:
        done = run(["nvidia-smi", _ASK, "--format=csv,noheader,nounits"], timeout=_SECONDS)
    except (OSError, TimedOut):
        return Gpus()
    return read_gpus(done.out) if done.ok else Gpus()


def read_gpus(text: str) -> Gpus:
    """`index, name, MiB` a line. GPUs without a published name and mixed GPUs are not offered,
    since an offer has one type.
    """
    found = [match.groups() for match in _ROW.finditer(text)]
    kinds = {(name.strip(), mib.strip()) for _, name, mib in found}
    if not kinds:
        return Gpus()
    said = " and ".join(sorted(name for name, _ in kinds))
    if len(kinds) > 1:
        return Gpus(unnamed=f"its GPUs are not offered, since they are of several kinds: {said}")
    (name, mib), *_ = kinds
    published = published_type(name, int(mib) / 1024 if mib.isdigit() else 0.0)
    if published is None:
        return Gpus(unnamed=f"its GPUs are not offered, since no published type is {said}")
    indices = tuple(index.strip() for index, _, _ in found)
    type_, memory, socket = published
    return Gpus(indices, type_, memory, socket)


def published_type(name: str, memory: float) -> tuple[str, int, str | None] | None:
    """The published type, GB and socket of a GPU, from nvidia-smi's name and GiB."""
    short = re.sub(r"^(?:NVIDIA |Tesla )+", "", name.strip())
    for pattern, model, socket in _NAMES:
        match = re.fullmatch(pattern, short)
        if match is None:
            continue
        called = model or match[1].replace(" ", "")
        for size in PUBLISHED[called]:
            if abs(memory - size) <= _TOLERANCE * size:
                return f"{called}_{size}GB", size, socket
    return None


# --- The machine ---

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


def _have(count: int, about: str | None, limits: str = _LOOSE) -> Spec:
    words = "; ".join(filter(None, (_SHARED, limits, about)))
    return Spec(default_count=count, default_included_in_price=True, additional_info=words)


def _choose(most: int, about: str | None) -> Spec:
    limits = {"min_count": 1, "max_count": most, "price_per_unit": 0.0, "step": 1}
    return msgspec.structs.replace(_have(most, about, _HELD), **limits)
