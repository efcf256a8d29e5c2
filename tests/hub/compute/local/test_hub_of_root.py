"""`prime hub serve --local-pods` as its users meet it, over a socket."""

import signal
from pathlib import Path
from typing import Any

import httpx

from prime_cli.hub.compute.local.users import find_user
from prime_cli.hub.context import Caller, open_hub
from prime_cli.hub.services import key_management, users
from prime_cli.hub.settings import HubSettings
from tests.helpers.local_pods import Here, wait_until
from tests.helpers.serving import ServedHub, serve
from tests.helpers.ssh_keys import public_line

API = "/api/v1"


def _add_user(hub: ServedHub, data: Path, slug: str, key: Path) -> str:
    """The API key of a new user, whose public key is on the hub."""
    beside = open_hub(HubSettings(data=data, owner="admin", embedded=False, accounts=True))
    users.create_user(beside, Caller.operator(), slug)
    token = key_management.issue_key(beside, Caller.operator(), slug, name="given").key
    beside.database.engine.dispose()
    with hub.client(token) as client:
        body = {"name": "mine", "publicKey": public_line(key)}
        made = client.post(f"{API}/ssh_keys/", json=body)
        assert made.is_success, made.text
    return token


def _create(client: httpx.Client) -> str:
    pod = {"cloudId": "local", "gpuType": "CPU_NODE", "gpuCount": 1, "name": "mine"}
    made = client.post(f"{API}/pods/", json={"pod": pod, "provider": {"type": "local"}})
    assert made.is_success, made.text
    return str(made.json()["id"])


def _wait(client: httpx.Client, pod_id: str) -> dict[str, Any]:
    def is_up() -> dict[str, Any] | None:
        pod: dict[str, Any] = client.get(f"{API}/pods/{pod_id}").json()
        return pod if pod["status"] not in ("PROVISIONING", "PENDING") else None

    pod = wait_until(is_up, what="the pod is up")
    assert pod["status"] == "ACTIVE", pod
    return pod


def _tag(here: Here, pod: dict[str, Any]) -> str:
    (tag,) = [
        tag for tag in here.provider.list_tags("") if tag == pod["sshConnection"].split("@")[0]
    ]
    here.tags.append(tag)
    return tag


def test_two_users_have_pods_that_the_other_cannot_see_and_that_outlive_the_hub(
    for_others: Here, tmp_path: Path
) -> None:
    data = tmp_path / "hub"
    words = ("--local-pods", "--pods-folder", str(for_others.provider.folder))
    with (
        serve(data, *words) as hub,
        hub.client(_add_user(hub, data, "ada", for_others.key)) as ada,
        hub.client(_add_user(hub, data, "bob", for_others.key)) as bob,
    ):
        pod_id = _create(ada)
        tag = _tag(for_others, _wait(ada, pod_id))
        other_id = _create(bob)
        other = _tag(for_others, _wait(bob, other_id))
        assert for_others.ssh(tag, "id -un").stdout == f"{tag}\n"
        assert bob.get(f"{API}/pods/{pod_id}").status_code == 404
        assert bob.delete(f"{API}/pods/{pod_id}").status_code == 404
        assert [each["id"] for each in bob.get(f"{API}/pods/").json()["data"]] == [other_id]
        key = ada.headers["authorization"].removeprefix("Bearer ")
        hub.kill()
    assert for_others.ssh(tag, "id -un").stdout == f"{tag}\n"
    with serve(data, *words) as again, again.client(key) as ada:
        assert ada.get(f"{API}/pods/{pod_id}").json()["status"] == "ACTIVE"
        assert ada.delete(f"{API}/pods/{pod_id}").is_success
        wait_until(lambda: tag not in for_others.provider.list_tags(""), what="the pod is gone")
        assert find_user(tag) is None
        assert for_others.provider.list_tags("") == [other]
        assert again.stop(signal.SIGTERM) == 0
    assert for_others.ssh(other, "id -un").stdout == f"{other}\n"
