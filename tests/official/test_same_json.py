"""What scripts read of pods: every key of the official client has the same value here.

But for times, which it writes as `2026-11-21 12:00:00 UTC` and we as `2026-11-21T12:00:00Z`.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from prime_cli.wire.disks import DiskCreation
from prime_cli.wire.pods import PodCreation
from tests.helpers.cli import prime_process
from tests.helpers.machines import DISK
from tests.helpers.official import Release
from tests.hub.services.compute.renting import wish
from tests.official.machines import Tenant, rented_out
from tests.official.users import newer_releases

pytestmark = [pytest.mark.slow, newer_releases, pytest.mark.sample(1, "release")]

_TIME = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC")


@pytest.fixture
def tenant(tmp_path: Path, release: Release) -> Iterator[Tenant]:
    """Somebody with a pod that is up and has a disk, one on its way, and one that ended."""
    with rented_out(tmp_path, release) as somebody:
        hub, machines = somebody.hub, somebody.machines
        disk = {"size": 100, "name": "data", "cloudId": DISK.cloud_id, "country": DISK.country}
        made = hub.disks.create(
            msgspec.convert({"disk": disk, "provider": {"type": "paper"}}, DiskCreation)
        )
        for name, changes in (("old", {}), ("web", {"disks": [made.id]}), ("slow", {})):
            machines.at_once = name != "slow"
            body = wish(name=name, image="ubuntu_22_cuda_12") | changes
            pod = hub.pods.create(msgspec.convert(body, PodCreation))
            if name == "old":
                hub.pods.terminate(pod.id)
        yield somebody


def theirs_of(tenant: Tenant, *argv: str) -> Any:
    """What the official client prints, with times as we write them."""
    return _as_ours(tenant.read(*argv))


def ours(tenant: Tenant, *argv: str) -> Any:
    """The same of this prime."""
    return prime_process(*argv, "--output", "json", env=tenant.prime.variables).ok().json


def test_lists_are_the_same(tenant: Tenant) -> None:
    theirs, here = theirs_of(tenant, "pods", "list"), ours(tenant, "pods", "list")
    assert {pod["name"] for pod in here["pods"]} == {"web", "slow"}
    assert _without_ours(here, "pods") == theirs
    paged = ("pods", "list", "--limit", "1", "--offset", "1")
    assert _without_ours(ours(tenant, *paged), "pods") == theirs_of(tenant, *paged)


@pytest.mark.parametrize("name", ["web", "slow"])
def test_a_status_is_the_same(tenant: Tenant, name: str) -> None:
    pod = tenant.pods()[name]
    theirs, here = theirs_of(tenant, "pods", "status", pod), ours(tenant, "pods", "status", pod)
    assert {key: here.get(key) for key in theirs} == theirs
    assert here.keys() - theirs.keys() == {"stop_at", "price_per_hour", "billed", "nodes"}
    assert ("attached_resources" in here) == (name == "web")


def test_histories_are_the_same(tenant: Tenant) -> None:
    assert ours(tenant, "pods", "history") == theirs_of(tenant, "pods", "history")


def _as_ours(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_ours(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_ours(item) for item in value]
    return _TIME.sub(r"\1T\2Z", value) if isinstance(value, str) else value


def _without_ours(page: dict[str, Any], rows: str) -> dict[str, Any]:
    added = {"stop_at", "price_per_hour", "nodes"}
    told = [{key: row[key] for key in row if key not in added} for row in page[rows]]
    return page | {rows: told}
