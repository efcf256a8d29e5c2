"""What an engine cannot limit on its machine, as it says itself."""

from typing import Any

import msgspec

from prime_cli.core.formatting import join_words

PODMAN_INFO = "v4.0.0/libpod/info"
"""Where Podman says more of its machine; Docker has nothing there."""

NEEDED = (
    "without root, an engine needs control groups of version 2 whose controllers cpu, memory and "
    "pids are delegated to its user; root's engine needs neither"
)


class _Info(msgspec.Struct, rename="pascal", frozen=True):
    """`GET /info`."""

    memory_limit: bool = True
    cpu_cfs_quota: bool = True
    pids_limit: bool = True


class _Security(msgspec.Struct, frozen=True):
    rootless: bool = False


class _Host(msgspec.Struct, rename="camel", frozen=True):
    cgroup_controllers: list[str] | None = None
    security: _Security = _Security()


class _PodmanInfo(msgspec.Struct, frozen=True):
    host: _Host = _Host()


def missing_limits(info: Any, podman: Any = None) -> list[str]:
    """What it cannot limit, of memory, CPUs and processes; `podman` is its answer at PODMAN_INFO.

    Raises msgspec.ValidationError for answers of something else.
    """
    said = msgspec.convert(info, _Info)
    held = {
        "memory": said.memory_limit,
        "CPUs": said.cpu_cfs_quota,
        "processes": said.pids_limit,
    }
    host = msgspec.convert(podman or {}, _PodmanInfo).host
    if host.security.rootless:
        # Its `/info` has what root could limit here.
        may = host.cgroup_controllers or ()
        held = {"memory": "memory" in may, "CPUs": "cpu" in may, "processes": "pids" in may}
    return [what for what, is_held in held.items() if not is_held]


def describe_missing(missing: list[str]) -> str:
    """The end of a sentence about an engine."""
    return f"cannot limit {join_words(missing)} of its containers"
