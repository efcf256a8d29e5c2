"""What SkyPilot can rent, and what it would put on machines; part of `run`, see there."""

from __future__ import annotations

import importlib
import math
import sys
from typing import Any

_POOLS = ("slurm", "kubernetes", "ssh")
_FEATURES = ("DOCKER_IMAGE", "MULTI_NODE", "AUTOSTOP")
_HAND_OUT_KEY = ("mithril", "seeweb", "verda")
"""Clouds on each of whose machines SkyPilot puts its own private key (its templates, 0.14.1).

It opens all of SkyPilot's machines. Elsewhere it is only copied along with credentials.
"""


_package = importlib.import_module(f"{__package__}.sky_package" if __package__ else "sky_package")


def find_uploaded(rows: list[dict[str, Any]]) -> list[str]:
    """Credential files that SkyPilot copies to each machine it creates.

    It does so for all clouds, even those without a machine in `rows`, unless its configuration says
    `remote_identity: NO_UPLOAD` for them.
    """
    check = importlib.import_module("sky.check")
    config = importlib.import_module("sky.skypilot_config")
    registry = importlib.import_module("sky.utils.registry").CLOUD_REGISTRY
    kept = [
        cloud
        for name, cloud in registry.items()
        if config.get_effective_workspace_region_config(
            cloud=name.lower(), region=None, keys=("remote_identity",), default_value=None
        )
        == "NO_UPLOAD"
    ]
    used = {str(row["infra"]).partition("/")[0].lower() for row in rows}
    keys = ["~/.ssh/sky-cluster-key"] if used.intersection(_HAND_OUT_KEY) else []
    return sorted(check.get_cloud_credential_file_mounts(kept)) + keys


def find_rows(sky: Any, sdk: Any, infra: list[str]) -> list[dict[str, Any]]:
    """A row per pool, and per instance or number of GPUs available in `infra`."""
    enabled = [str(name) for name in sky.get(sdk.enabled_clouds(expand=True))]
    wanted = [name.lower() for name in infra]
    chosen = [name for name in enabled if not wanted or _is_wanted(name.lower(), wanted)]
    if not enabled:
        raise _package.Refused(
            "SkyPilot has no enabled cloud; run `sky check` to see what each one needs"
        )
    if not chosen:
        raise _package.Refused(
            f"SkyPilot may use {', '.join(enabled)}, and none of {', '.join(wanted)}"
        )
    rows, troubles = [], []
    for name in chosen:
        cloud, _, pool = name.partition("/")
        refused = _refused_features(sky, name)
        if cloud.lower() in _POOLS:
            rows.append({"infra": name, "refused": refused})
        try:
            found = _accelerators(sky, sdk, cloud.lower(), pool or None)
        except Exception as error:  # noqa: BLE001 - the other clouds are to be had
            troubles.append(f"{name}: {error}")
            continue
        rows += [{"infra": name, "refused": refused, **row} for row in found]
    if not rows:
        raise _package.Refused(
            f"SkyPilot has no prices or machines of {'; '.join(troubles) or 'any cloud'}"
        )
    sys.stderr.writelines(f"{trouble}\n" for trouble in troubles)
    return rows


def _is_wanted(name: str, wanted: list[str]) -> bool:
    """`slurm/lab` is wanted where `slurm/lab` or `slurm` is, `aws` where `aws/us-east-1` is."""
    return any(name == w or name.startswith(f"{w}/") or w.startswith(f"{name}/") for w in wanted)


def _accelerators(sky: Any, sdk: Any, cloud: str, pool: str | None) -> list[dict[str, Any]]:
    found = sky.get(
        sdk.list_accelerators(
            gpus_only=True,
            clouds=[cloud],
            region_filter=pool,
            all_regions=pool is None,
            require_price=False,
        )
    )
    keys = ("instance_type", "accelerator_name", "accelerator_count", "cpu_count")
    more = ("device_memory", "memory", "price", "spot_price", "region")
    return [
        {key: _plain(getattr(info, key)) for key in (*keys, *more)}
        for infos in found.values()
        for info in infos
    ]


def _plain(value: Any) -> Any:
    """For JSON: catalogs contain numpy numbers, and NaN for unknown values."""
    if value is None or isinstance(value, str):
        return value
    number = float(value)
    return None if math.isnan(number) else number


def _refused_features(sky: Any, infra: str) -> dict[str, str]:
    """What a cloud cannot do, with its own reason."""
    clouds = importlib.import_module("sky.clouds")
    exceptions = importlib.import_module("sky.exceptions")
    resources = sky.Resources(infra=infra)
    refused = {}
    for name in _FEATURES:
        feature = clouds.CloudImplementationFeatures[name]
        try:
            resources.cloud.check_features_are_supported(resources, {feature}, resources.region)
        except exceptions.NotSupportedError as error:
            refused[name.lower()] = " ".join(str(error).split())
    return refused
