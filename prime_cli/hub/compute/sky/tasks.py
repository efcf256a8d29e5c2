"""An order as a SkyPilot task: a bare machine, with a setup that lets its users in."""

import base64
import math
import shlex
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from prime_cli.core.errors import UsageError
from prime_cli.hub.compute.provider import PodSpec
from prime_cli.hub.compute.sky.machines import SkyOffer

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
    envs = {} if machine.cloud == "slurm" else {"PRIME_AUTHORIZED_KEYS": _keys(order)}
    secrets = {"PRIME_ENVIRONMENT": _environment(order)} if order.variables else {}
    if envs:
        task["envs"] = envs
    if secrets:
        task["secrets"] = secrets
    if machine.cloud == "slurm":
        minutes = max(1, math.ceil((order.stop_at - now).total_seconds() / 60))
        task["config"] = {"slurm": {"sbatch_options": {"time": str(minutes)}}}
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
