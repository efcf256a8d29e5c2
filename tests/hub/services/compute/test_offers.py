"""What can be rented, of all providers: filters, pages, and providers that fail."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from prime_cli.core.errors import Unreachable
from prime_cli.hub.context import open_hub
from prime_cli.hub.services.compute.offers import gather
from prime_cli.wire.offers import DiskOffer, GpuOffer, Prices
from tests.helpers.machines import A100, DISK, SPOT, Machines
from tests.hub.pushing import settings_for
from tests.hub.services.compute.renting import API, PodHub

CLUSTER = msgspec.structs.replace(
    A100, cloud_id="two", interconnect_type="Infiniband", gpu_count=16
)


class Broken(Machines):
    """A provider that does not answer."""

    def offers(self) -> Sequence[GpuOffer]:
        raise Unreachable("The cloud is down")

    def disk_offers(self) -> Sequence[DiskOffer]:
        raise Unreachable("The cloud is down")


class Buggy(Machines):
    """A provider with a bug."""

    def offers(self) -> Sequence[GpuOffer]:
        raise KeyError("price")


def clouds(pod_hub: PodHub, query: str = "", path: str = "gpus") -> list[str]:
    answer = pod_hub.ada.get(f"{API}/availability/{path}?{query}")
    assert answer.is_success, answer.text
    page = answer.json()
    assert page["totalCount"] >= len(page["items"])
    return [item["cloudId"] for item in page["items"]]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["gpu_1x_a100", "gpu_8x_h100_spot"]),
        ("gpu_count=8", ["gpu_8x_h100_spot"]),
        ("gpu_type=A100_80GB", ["gpu_1x_a100"]),
        ("regions=eu_north", ["gpu_8x_h100_spot"]),
        ("regions=eu_north&regions=united_states", ["gpu_1x_a100", "gpu_8x_h100_spot"]),
        ("regions=canada", []),
        ("regions=&disks=", ["gpu_1x_a100", "gpu_8x_h100_spot"]),
        ("socket=PCIe", ["gpu_1x_a100"]),
        ("security=community_cloud", []),
        ("data_center_id=FIN-01", ["gpu_8x_h100_spot"]),
        ("cloud_id=gpu_1x_a100", ["gpu_1x_a100"]),
        ("page_size=1", ["gpu_1x_a100"]),
        ("page_size=1&page=2", ["gpu_8x_h100_spot"]),
        ("page_size=1&page=3", []),
    ],
)
def test_offers_are_filtered_and_paged(pod_hub: PodHub, query: str, found: list[str]) -> None:
    assert clouds(pod_hub, query) == found


def test_pages_hold_together_what_the_total_promises(pod_hub: PodHub) -> None:
    pod_hub.machines.gpus = [msgspec.structs.replace(A100, cloud_id=f"c{n:03}") for n in range(205)]
    pages = [clouds(pod_hub, f"page={page}&page_size=100") for page in (1, 2, 3)]
    assert [len(page) for page in pages] == [100, 100, 5]
    assert len({*pages[0], *pages[1], *pages[2]}) == 205


@pytest.mark.parametrize("query", ["page=0", "page_size=101", "page_size=x", "gpu_count=-1"])
def test_a_page_that_cannot_be_is_refused(pod_hub: PodHub, query: str) -> None:
    assert pod_hub.ada.get(f"{API}/availability/gpus?{query}").status_code == 422


def test_clusters_are_listed_apart(pod_hub: PodHub) -> None:
    pod_hub.machines.gpus = [A100, CLUSTER]
    assert (clouds(pod_hub), clouds(pod_hub, path="multi-node")) == (["gpu_1x_a100"], ["two"])
    assert list(pod_hub.ada.get(f"{API}/availability/clusters").json()) == ["A100_80GB"]
    summary = pod_hub.ada.get(f"{API}/availability/multi-node-summary").json()
    assert list(summary["A100_80GB"]) == ["16"]


def test_old_releases_get_lists_by_type(pod_hub: PodHub) -> None:
    by_type = pod_hub.ada.get(f"{API}/availability?gpu_count=1").json()
    assert [item["cloudId"] for item in by_type["A100_80GB"]] == ["gpu_1x_a100"]


def test_the_summary_says_the_cheapest_of_each_kind(pod_hub: PodHub) -> None:
    dearer = msgspec.structs.replace(A100, cloud_id="b", prices=Prices("USD", on_demand=3.0))
    community = msgspec.structs.replace(
        A100, cloud_id="c", prices=Prices("USD", community_price=1.0)
    )
    pod_hub.machines.gpus = [dearer, A100, community, SPOT]
    assert pod_hub.ada.get(f"{API}/availability/gpu-summary").json() == {
        "A100_80GB": {"1": {"cheapest": {"onDemand": 1.65, "communityPrice": 1.0}}},
        "H100_80GB": {"8": {"cheapest": {"spotPrice": 9.52}}},
    }


def test_kinds_of_disks_are_filtered_and_paged(pod_hub: PodHub) -> None:
    elsewhere = msgspec.structs.replace(DISK, cloud_id="disk_fi", region="eu_north")
    pod_hub.machines.kinds_of_disks = [DISK, elsewhere]
    assert clouds(pod_hub, path="disks") == ["disk_fi", "disk_ks"]
    assert clouds(pod_hub, "regions=eu_north", path="disks") == ["disk_fi"]
    assert clouds(pod_hub, "page_size=1&page=2", path="disks") == ["disk_ks"]


def test_offers_near_a_disk_are_of_its_provider_and_place(pod_hub: PodHub) -> None:
    body: dict[str, Any] = {"disk": {"size": 100}, "provider": {"type": "paper"}}
    disk = pod_hub.ada.post(f"{API}/disks", json=body).raise_for_status().json()
    assert clouds(pod_hub, f"disks={disk['id']}") == ["gpu_1x_a100"]
    bob = pod_hub.tenant("bob", 2)
    assert bob.get(f"{API}/availability/gpus?disks={disk['id']}").status_code == 404


@pytest.mark.parametrize("broken", [Broken(name="sky"), Buggy(name="sky")])
def test_a_provider_that_fails_does_not_hide_the_others(
    folder: Path, broken: Machines, caplog: pytest.LogCaptureFixture
) -> None:
    pod_hub = PodHub(folder, others=(broken,))
    with caplog.at_level(logging.WARNING):
        assert clouds(pod_hub) == ["gpu_1x_a100", "gpu_8x_h100_spot"]
    assert "`sky`" in caplog.text


def test_when_all_providers_fail_the_failure_is_answered(folder: Path) -> None:
    answer = PodHub(folder, Broken()).ada.get(f"{API}/availability/gpus")
    assert (answer.status_code, answer.json()["detail"]) == (503, "The cloud is down")


def test_a_failure_of_the_built_in_hub_is_reported_once(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    hub = open_hub(settings_for(folder, "ada", providers=(Broken(),)))
    with caplog.at_level(logging.WARNING), pytest.raises(Unreachable):
        gather(hub, lambda provider: provider.offers())
    assert not caplog.records
    hub = open_hub(settings_for(folder, "ada", providers=(Broken(), Machines(name="sky"))))
    with caplog.at_level(logging.WARNING):
        assert gather(hub, lambda provider: provider.offers())
    assert "`paper` failed: The cloud is down" in caplog.text


def test_offers_are_for_users(pod_hub: PodHub) -> None:
    assert pod_hub.accounts_hub.client().get(f"{API}/availability/gpus").status_code == 401
