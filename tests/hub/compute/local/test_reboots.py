"""A reboot as users of a served hub meet it."""

import signal
from pathlib import Path
from typing import Any

import httpx

from tests.helpers.local_pods import Here, wait_until
from tests.helpers.serving import serve
from tests.helpers.ssh_keys import public_line

API = "/api/v1"
POD = {"cloudId": "local", "gpuType": "CPU_NODE", "gpuCount": 1, "name": "mine"}


def _rent(client: httpx.Client) -> dict[str, Any]:
    made = client.post(f"{API}/pods/", json={"pod": POD, "provider": {"type": "local"}})
    assert made.is_success, made.text
    return _wait(client, made.json()["id"])


def _wait(client: httpx.Client, pod_id: str) -> dict[str, Any]:
    def is_settled() -> dict[str, Any] | None:
        pod: dict[str, Any] = client.get(f"{API}/pods/{pod_id}").json()
        return pod if pod["status"] not in ("PROVISIONING", "PENDING") else None

    return wait_until(is_settled, what="the pod has settled")


def test_a_served_hub_gives_back_what_its_users_had_and_sweeps_nothing_of_it(
    for_others: Here, tmp_path: Path
) -> None:
    words = ("--local-pods", "--pods-folder", str(for_others.provider.folder))
    with serve(tmp_path / "hub", *words) as hub, hub.client() as client:
        body = {"name": "mine", "publicKey": public_line(for_others.key)}
        client.post(f"{API}/ssh_keys/", json=body).raise_for_status()
        well, ill = _rent(client), _rent(client)
        tags = [str(each["sshConnection"]).split("@")[0] for each in (well, ill)]
        for_others.tags += tags
        for tag in tags:
            assert for_others.ssh(tag, "echo work > day").returncode == 0
        key = hub.key
        hub.kill()
    for_others.reboot(*tags)
    for_others.folder(tags[1]).change_state(status="ERROR", failure="Its sshd ended with -9")
    with serve(tmp_path / "hub", *words) as again, again.client(key) as client:
        after = _wait(client, well["id"])
        kept = ("sshConnection", "hostKeys", "stopAt", "status")
        assert {name: after[name] for name in kept} == {name: well[name] for name in kept}
        assert after["startedAgain"] is not None
        log = client.get(f"{API}/pods/{well['id']}/log").text
        assert "this machine was started anew" in log
        assert for_others.ssh(tags[0], "cat day").stdout == "work\n"
        failed = _wait(client, ill["id"])
        assert failed["installationFailure"] == "Its sshd ended with -9"
        day = for_others.folder(tags[1]).home / "day"
        assert day.read_text(encoding="utf-8") == "work\n"
        assert client.delete(f"{API}/pods/{ill['id']}").is_success
        assert not day.exists()
        assert again.stop(signal.SIGTERM) == 0
