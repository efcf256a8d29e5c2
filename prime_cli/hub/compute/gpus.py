"""GPUs of the local machine, under the names of the published list."""

import re
from dataclasses import dataclass

from prime_cli.core.process import TimedOut, run

_ASK = "--query-gpu=index,name,memory.total"
_SECONDS = 10.0
_TOLERANCE = 0.08
"""nvidia-smi reports what is available to programs: 15360 MiB for a T4 with 16 GB."""

_PUBLISHED = {
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
    """`index, name, MiB` a line. GPUs of a kind without a published name are not offered, nor are
    those of several kinds: an offer is of one.
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
        for size in _PUBLISHED[called]:
            if abs(memory - size) <= _TOLERANCE * size:
                return f"{called}_{size}GB", size, socket
    return None
