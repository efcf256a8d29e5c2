"""Two users rent the machine of one hub: neither sees, enters or ends what is the other's."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.helpers.engines import podman
from tests.journeys.somebody import Somebody
from tests.journeys.town import Town, found_town

pytestmark = pytest.mark.machine

API = "/api/v1"


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    with found_town(tmp_path) as founded:
        yield founded


def client_of(town: Town, somebody: Somebody) -> httpx.Client:
    return town.hub.client(somebody.variables["PRIME_API_KEY"])


def listed(somebody: Somebody) -> list[str]:
    pods = somebody.prime("pods", "list", "--output", "json").ok().json["pods"]
    return [pod["id"] for pod in pods]


def ssh_with_the_key_of(somebody: Somebody, way: list[str]) -> "subprocess.CompletedProcess[str]":
    """Log in the way that `pods ssh --print` told, with the private key of somebody."""
    key = somebody.home / ".prime" / "ssh" / "id_ed25519"
    given = [f"IdentityFile={key}" if each.startswith("IdentityFile=") else each for each in way]
    argv = [given[0], "-F", "none", "-o", "BatchMode=yes", *given[1:], "true"]
    return subprocess.run(argv, capture_output=True, encoding="utf-8", timeout=120, check=False)


def test_pods_of_two_users_are_apart_at_the_hub_at_their_doors_and_inside(town: Town) -> None:
    ada, bob = town.ada, town.bob
    hers, his = town.rent(ada, "hers"), town.rent(bob, "his")
    assert (listed(ada), listed(bob)) == ([hers], [his])
    at_the_hub_a_pod_of_somebody_else_is_none(town, hers)
    for argv in (["status"], ["logs"], ["terminate", "--yes"], ["ssh", "--no-config"]):
        assert bob.prime("pods", *argv, hers).code == 6, argv
    assert bob.prime("pods", "exec", hers, "--", "true").code == 6

    way = ada.prime("pods", "ssh", "hers", "--print", "--output", "json").ok().json["argv"]
    assert ssh_with_the_key_of(ada, way).returncode == 0
    refused = ssh_with_the_key_of(bob, way)
    assert refused.returncode == 255
    assert "Permission denied" in refused.stderr

    script = "echo x > hers; sleep 4333 >/dev/null 2>&1 & echo $!"
    process = ada.prime("pods", "exec", "hers", "--", "sh", "-c", script).ok().out.strip()
    for command in (
        "cat /root/hers",
        "grep -l 'sleep[^s]4333' /proc/[0-9]*/cmdline",
        f"ls {ada.home}",
        "mount -t proc none /mnt",
    ):
        assert bob.prime("pods", "exec", "his", "--", "sh", "-c", command).code != 0, command
    ada.prime("pods", "exec", "hers", "--", "sh", "-c", f"kill -0 {process}").ok()

    town.end_all()
    assert podman().tags() == []


def at_the_hub_a_pod_of_somebody_else_is_none(town: Town, pod: str) -> None:
    with client_of(town, town.bob) as client, client_of(town, town.ada) as owner:
        for method, path in (("GET", ""), ("GET", "/log"), ("DELETE", "")):
            answer = client.request(method, f"{API}/pods/{pod}{path}")
            assert answer.status_code == 404, path
            nothing = client.request(method, f"{API}/pods/none{path}")
            assert answer.text.replace(pod, "none") == nothing.text
        assert client.get(f"{API}/pods/status", params={"pod_ids": pod}).json() == {"data": []}
        for path in ("pods", "pods/history", "ssh_keys"):
            assert pod not in json.dumps(client.get(f"{API}/{path}").json())
        swept = client.post(f"{API}/pods/sweep", json={"dryRun": False})
        assert swept.json() == {"leaks": []}
        assert owner.get(f"{API}/pods/{pod}").json()["status"] == "ACTIVE"
