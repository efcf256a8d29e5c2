"""What an engine says that it cannot limit; the answers are those of real ones."""

import pytest

from prime_cli.hub.compute.engine.entry import missing_limits
from tests.helpers.scripted_engine import ROOTS, podman


def test_root_s_engine_limits_everything() -> None:
    assert missing_limits(ROOTS) == []
    of_root = {"host": {"cgroupControllers": [], "security": {"rootless": False}}}
    assert missing_limits(ROOTS, of_root) == []


def test_docker_without_control_groups_says_so_itself() -> None:
    info = {"MemoryLimit": False, "CpuCfsQuota": False, "PidsLimit": False}
    assert missing_limits(info) == ["memory", "CPUs", "processes"]


@pytest.mark.parametrize(
    ("controllers", "missing"),
    [
        ((), ["memory", "CPUs", "processes"]),
        (("memory", "pids"), ["CPUs"]),
        (("cpuset", "cpu", "io", "memory", "pids"), []),
    ],
)
def test_podman_without_root_limits_by_what_is_delegated_to_it(
    controllers: tuple[str, ...], missing: list[str]
) -> None:
    assert missing_limits(ROOTS, podman(*controllers)) == missing
