"""What our hub answers at every published address, when it goes well and when it is a 422."""

from pathlib import Path
from typing import Any

import pytest

from prime_cli.hub.compute.provider import PodStatus, SshAddress
from tests.helpers.ssh_keys import line
from tests.hub.services.compute.renting import wish
from tests.published.checking import API
from tests.published.notation import published
from tests.published.watched import BOX, CLUSTER, GPU, Watched


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path / "hub")


ASKED = (
    "/availability/",
    "/availability/clusters",
    "/availability/gpus?gpu_type=A100_80GB&gpu_count=1&socket=PCIe&security=secure_cloud",
    "/availability/gpus?regions=canada&regions=eu_north&data_center_id=x&cloud_id=y",
    "/availability/gpus?page=1&page_size=100",
    "/availability/multi-node",
    "/availability/disks?regions=united_states&data_center_id=US-KS-2&cloud_id=disk_ks",
    "/availability/gpu-summary",
    "/availability/multi-node-summary",
    "/pods/?offset=0&limit=100",
    "/pods/history?sort_by=createdAt&sort_order=asc&offset=0&limit=1",
    "/disks/?offset=0&limit=100",
    "/ssh_keys/?offset=0&limit=100",
)


@pytest.fixture
def lived(watched: Watched) -> Watched:
    """Pods in every state that there is, disks, and keys."""
    disk = watched.ask("POST", "/disks/", {"disk": {"size": 100}, "provider": {"type": "local"}})
    watched.ask("PATCH", f"/disks/{disk['id']}", {"name": "data"})
    watched.get(f"/disks/{disk['id']}")
    watched.get(f"/availability/gpus?disks={disk['id']}")
    pods = [
        watched.rent(BOX, disks=[disk["id"]]),
        watched.rent(GPU, team=None, disks=None, team_member_ids=None, shared_with_team=False),
        watched.rent(CLUSTER, nodes=2),
        *(watched.rent(GPU) for _ in range(2)),
    ]
    tags = [watched.pod_hub.tag(pod) for pod in pods]
    there = [SshAddress("root", "192.0.2.1", 22), SshAddress("root", "192.0.2.2", 2222)]
    watched.machines.seen[tags[2]] = PodStatus("ACTIVE", addresses=tuple(there))
    watched.machines.seen[tags[3]] = PodStatus("PROVISIONING", progress=7)
    watched.machines.fail(tags[4], "no room")
    for pod in pods:
        watched.get(f"/pods/{pod['id']}")
        watched.get(f"/pods/status?pod_ids={pod['id']}")
        watched.get(f"/pods/{pod['id']}/log?tail=5")
    both = watched.get("/pods/status?" + "&".join(f"pod_ids={pod['id']}" for pod in pods))
    assert isinstance(both["data"][2]["sshConnection"], list)
    watched.get("/pods/")
    for pod in pods:
        watched.ask("DELETE", f"/pods/{pod['id']}")
        watched.get(f"/pods/{pod['id']}")
    watched.ask("DELETE", f"/disks/{disk['id']}")
    key = watched.ask("POST", "/ssh_keys/", {"name": "second", "publicKey": line(2)})
    watched.ask("PATCH", f"/ssh_keys/{key['id']}", {"isPrimary": True})
    watched.ask("DELETE", f"/ssh_keys/{key['id']}")
    return watched


def test_every_published_address_answers_as_published(lived: Watched) -> None:
    for path in ASKED:
        lived.get(path)
    good = {address for address, status in lived.seen if status == 200}
    assert good == {f"{each.method} {each.path}" for each in published().addresses}


@pytest.mark.parametrize(
    ("method", "path", "body", "param"),
    [
        ("GET", "/availability/gpus?page=0", None, "page"),
        ("GET", "/availability/gpus?page_size=many", None, "page_size"),
        ("GET", "/availability/disks?page=-1", None, "page"),
        ("GET", "/pods/?limit=none", None, "limit"),
        ("GET", "/pods/history?sort_by=name", None, "sort_by"),
        ("GET", "/pods/history?sort_order=up", None, "sort_order"),
        ("GET", "/pods/one/log?tail=x", None, "tail"),
        ("POST", "/pods/", {}, None),
        ("POST", "/pods/", [], None),
        ("POST", "/pods/", wish() | {"pod": {"cloudId": "c", "gpuType": "g"}}, "pod"),
        ("POST", "/pods/", wish(BOX, diskSize="big"), "pod.diskSize"),
        ("POST", "/pods/", wish(BOX, vcpus=0), None),
        ("GET", "/disks/?offset=-1", None, "offset"),
        ("POST", "/disks/", {"disk": {"size": 0}, "provider": {"type": "local"}}, None),
        ("POST", "/disks/", {"disk": {"size": "1"}, "provider": {"type": "local"}}, "disk.size"),
        ("GET", "/ssh_keys/?limit=0", None, "limit"),
        ("POST", "/ssh_keys/", {"name": "k", "publicKey": "nonsense"}, None),
        ("POST", "/ssh_keys/", {"name": "k"}, None),
    ],
)
def test_what_cannot_be_is_refused_as_published(
    watched: Watched, method: str, path: str, body: Any, param: str | None
) -> None:
    answer = watched.ada.request(method, f"{API}{path}", json=body)
    assert answer.status_code == 422, answer.text
    (told,) = answer.json()["errors"]
    assert told["details"] == answer.json()["detail"]
    if param is not None:
        assert told["param"] == param


@pytest.mark.parametrize("address", published().addresses, ids=lambda a: f"{a.method} {a.path}")
def test_pods_disks_and_keys_need_a_key(watched: Watched, address: Any) -> None:
    path = address.path.format(pod_id="one", disk_id="one", key_id="one")
    answer = watched.pod_hub.accounts_hub.client().request(address.method, f"{API}{path}")
    offers = path.startswith("/availability")
    assert answer.status_code in ((200, 401) if offers else (401,))
