"""What SkyPilot's catalogs call GPUs, and their names in the published list (`GPUType`)."""

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
"""Catalogs count GB or GiB, with or without what the driver keeps."""


def published_type(name: str, memory: float | None) -> str | None:
    """The published type of a GPU with a name of SkyPilot, and GB where it knows them.

    None where there is no such type, or `memory` is that of another model.
    """
    published = _TYPE_OF.get(name.lower())
    if published is None:
        return None
    size = memory_of(published)
    if memory and size and abs(memory - size) > _SOME * size:
        return None
    return published


def memory_of(published: str) -> int:
    """GB of a published type; 0 where its name does not say."""
    digits = published.rpartition("_")[2].removesuffix("GB")
    return int(digits) if digits.isdigit() else 0
