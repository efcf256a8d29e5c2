"""The sandbox API of an embedded hub over bubblewrap: nothing in between is a stand-in."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.helpers.local_pods import wait_until
from tests.helpers.sandboxes import API, Inside, create, sandbox_hub
from tests.helpers.tools import needs_bubblewrap

pytestmark = needs_bubblewrap


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Ada's hub, with one supervisor for all tests."""
    with sandbox_hub(tmp_path_factory.mktemp("hub")) as client:
        yield client


@pytest.fixture(scope="module")
def inside(hub: httpx.Client) -> Inside:
    """A sandbox that lives for all tests."""
    return Inside(hub, create(hub)["id"])


def test_a_sandbox_runs_when_its_creation_is_answered(hub: httpx.Client) -> None:
    made = create(hub, labels=["b", "a", "b"], cpu_cores=1.0)
    shown = hub.get(f"{API}/sandbox/{made['id']}").json()
    assert (shown["status"], shown["labels"], shown["cpuCores"]) == ("RUNNING", ["a", "b"], 1)
    assert "not the image" in shown["advancedConfigs"]["image"]
    assert hub.delete(f"{API}/sandbox/{made['id']}").json()["success"]
    assert hub.get(f"{API}/sandbox/{made['id']}").json()["status"] == "TERMINATED"


def test_a_token_opens_one_sandbox(hub: httpx.Client, inside: Inside) -> None:
    other = Inside(hub, create(hub)["id"])
    mixed = hub.post(f"{other.url}/exec", headers=inside.headers, json={"command": "true"})
    assert mixed.status_code == 401
    assert hub.post(f"{other.url}/exec", json={"command": "true"}).status_code == 401


def test_a_dead_sandbox_says_why(hub: httpx.Client) -> None:
    sandbox_id = create(hub)["id"]
    found = Inside(hub, sandbox_id)
    assert found.run("kill -9 -1")["exit_code"] == 137
    context = hub.get(f"{API}/sandbox/{sandbox_id}/error-context").json()
    assert (context["status"], context["errorType"]) == ("TERMINATED", "TERMINATED")
    assert found.post("exec", json={"command": "true"}).status_code == 409


def test_a_retried_creation_is_one_sandbox(hub: httpx.Client) -> None:
    first = create(hub, idempotency_key="once", labels=["once"])
    assert create(hub, idempotency_key="once", labels=["once"])["id"] == first["id"]
    page = hub.get(f"{API}/sandbox", params={"labels": "once"}).json()
    assert (page["total"], page["perPage"]) == (1, 50)


def test_a_new_hub_gives_several_at_once_and_one_for_each_key(tmp_path: Path) -> None:
    with sandbox_hub(tmp_path / "new") as hub, ThreadPoolExecutor(6) as pool:
        keys = [f"key-{number % 2}" for number in range(6)]
        made = pool.map(lambda key: create(hub, idempotency_key=key, memory_gb=0.2)["id"], keys)
        assert len(set(made)) == 2
        assert hub.get(f"{API}/sandbox").json()["total"] == 2


def test_many_are_ended_by_label_and_by_id(hub: httpx.Client) -> None:
    made = [create(hub, labels=["many", str(number)])["id"] for number in range(2)]
    by_label = hub.request("DELETE", f"{API}/sandbox", json={"labels": ["many", "1"]}).json()
    assert by_label["succeeded"] == [made[1]]
    ids = {"sandbox_ids": [*made, "none"]}
    by_id = hub.request("DELETE", f"{API}/sandbox", json=ids).json()
    assert sorted(by_id["succeeded"]) == sorted(made)
    assert by_id["failed"] == [{"sandbox_id": "none", "error": "Sandbox not found"}]
    states = hub.post(f"{API}/sandbox/status:batchGet", json=ids).json()
    assert [each["status"] for each in states["statuses"]] == ["TERMINATED"] * 2
    assert states["errors"][0]["code"] == "NOT_FOUND"


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"docker_image": "ubuntu:22.04"}, "has no images"),
        ({"gpu_count": 1}, "prime pods create"),
        ({"docker_image": "python:3.4"}, "3.9 or later"),
        ({"network_allowlist": ["10.0.0.0/8"]}, "not the name of a host"),
        ({"timeout_minutes": 0}, "timeout_minutes"),
        ({"environment_vars": {"A": "x" * 70_000}}, "at most 60000 characters"),
        ({"colour": "red"}, "not a known field"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(
    hub: httpx.Client, wish: dict[str, object], words: str
) -> None:
    answer = hub.post(f"{API}/sandbox", json={"docker_image": "python:3.11", **wish})
    assert answer.status_code == 422
    assert words in answer.json()["detail"] + (answer.json().get("hint") or "")


def test_the_start_command_is_a_text_or_an_object_by_release(hub: httpx.Client) -> None:
    sandbox_id = create(hub, start_command="echo it ran")["id"]
    address = f"{API}/sandbox/{sandbox_id}"
    new = {"user-agent": "prime-sandboxes/0.5.1 python/3.11"}
    shown = hub.get(address, headers=new).json()["startCommand"]
    assert shown == {"executable": "/bin/sh", "args": ["-c", "echo it ran"]}
    assert hub.get(address).json()["startCommand"] == "echo it ran"
    wait_until(
        lambda: hub.get(f"{address}/logs").json()["logs"] == "it ran\n", what="the command has run"
    )
