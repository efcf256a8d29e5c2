"""Machines: a hub without any says so in a form that every release reads."""

import pytest

from tests.official.users import User, newer_releases

pytestmark = pytest.mark.slow


def test_there_are_no_machines_to_rent(user: User) -> None:
    offers = user.read("availability", "list")
    assert (offers["gpu_resources"], offers["total_count"]) == ([], 0)
    user.prime("availability", "list").ok()
    user.prime("availability", "gpu-types").ok()


def test_there_are_no_pods(user: User) -> None:
    assert user.read("pods", "list")["pods"] == []
    user.prime("pods", "list").ok()
    unknown = user.prime("pods", "status", "pod_1")
    assert unknown.code == 1


@newer_releases
def test_there_are_no_disks_and_no_history(user: User) -> None:
    assert user.read("disks", "list")["disks"] == []
    assert user.read("availability", "disks")["disks"] == []
    user.prime("pods", "history").ok()
