"""Two servers on one database and one engine: each pod is made and ended once."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from prime_cli.hub.context import open_hub
from prime_cli.hub.services.audit import list_entries
from prime_cli.hub.settings import HubSettings
from tests.helpers.engines import IMAGE, Podman, podman
from tests.helpers.local_pods import wait_until
from tests.helpers.postgres import fresh_database
from tests.helpers.serving import ServedHub, serve
from tests.helpers.ssh_keys import make_key, public_line
from tests.hub.faults.shared_hub import SharedHub, at_once

pytestmark = [pytest.mark.slow, pytest.mark.machine]

API = "/api/v1"
POD = {"cloudId": "engine", "gpuType": "CPU_NODE", "gpuCount": 1, "name": "mine"}


@dataclass(frozen=True)
class TwoHubs:
    """Both servers, and a client of each, as the admin."""

    database: str
    first: ServedHub
    clients: tuple[httpx.Client, httpx.Client]

    def audited(self, action: str) -> list[str]:
        """What was done to which pod, by the audit log."""
        settings = HubSettings(
            data=self.first.out.parent,
            owner="admin",
            database=self.database,
            embedded=False,
            accounts=True,
        )
        beside = open_hub(settings)
        entries = list_entries(beside, action=action)
        beside.database.engine.dispose()
        return sorted(entry.target for entry in entries)


@contextmanager
def two_hubs(folder: Path, engine: Podman) -> Iterator[TwoHubs]:
    pods = ("--local-pods", "--pod-images", IMAGE)
    env = {"CONTAINER_HOST": engine.url}
    with fresh_database("template0") as database:
        argv = ("--database", database, "--rate-limit", "0", *pods)
        with (
            serve(folder / "a", *argv, env=env) as a,
            serve(folder / "b", *argv, env=env) as b,
            SharedHub(a.key, (a.url, b.url)) as shared,
        ):
            clients = (shared.client(0), shared.client(1))
            body = {"name": "mine", "publicKey": public_line(make_key(folder))}
            clients[0].post(f"{API}/ssh_keys/", json=body).raise_for_status()
            yield TwoHubs(database, a, clients)


@pytest.fixture
def engine() -> Iterator[Podman]:
    made = podman()
    yield made
    for tag in made.tags():
        made.provider().end(tag)


def create(client: httpx.Client, **wishes: Any) -> httpx.Response:
    return client.post(f"{API}/pods", json={"pod": POD, "provider": {"type": "engine"}, **wishes})


def pods(client: httpx.Client) -> dict[str, str]:
    """The statuses of pods by their ids."""
    page = client.get(f"{API}/pods").raise_for_status().json()
    return {pod["id"]: pod["status"] for pod in page["data"]}


def test_pods_that_both_make_and_both_end_are_made_and_ended_once(
    tmp_path: Path, engine: Podman
) -> None:
    with two_hubs(tmp_path, engine) as hubs:
        body = {"disk": {"size": 1}, "provider": {"type": "engine"}}
        disk = hubs.clients[0].post(f"{API}/disks", json=body).raise_for_status().json()["id"]
        wanted = [partial(create, client, disks=[disk]) for client in hubs.clients * 2]
        assert sorted(answer.status_code for answer in at_once(wanted)) == [200, 409, 409, 409]
        more = at_once([partial(create, client) for client in hubs.clients * 2])
        assert [answer.text for answer in more if not answer.is_success] == []

        def are_up() -> bool:
            return all(set(pods(client).values()) == {"ACTIVE"} for client in hubs.clients)

        wait_until(are_up, what="the pods are up")
        there = sorted(pods(hubs.clients[1]))
        assert len(there) == len(engine.tags()) == 5
        ends = [partial(c.delete, f"{API}/pods/{pod}") for pod in there for c in hubs.clients]
        assert [answer.text for answer in at_once(ends) if not answer.is_success] == []
        wait_until(lambda: not pods(hubs.clients[0]), what="the pods are gone")
        assert engine.tags() == []
        assert hubs.audited("pod.create") == hubs.audited("pod.terminate") == there


def test_what_a_killed_hub_was_making_is_known_to_the_other(tmp_path: Path, engine: Podman) -> None:
    with two_hubs(tmp_path, engine) as hubs:
        first, second = hubs.clients

        def try_to_create() -> None:
            with suppress(httpx.TransportError):
                create(first)

        def kill() -> None:
            wait_until(engine.tags, what="a pod is being made")
            hubs.first.kill()

        at_once([*[try_to_create] * 4, kill])
        known = {pod[:12] for pod in pods(second)}
        assert {tag[-12:] for tag in engine.tags()} <= known
        for pod in pods(second):
            second.delete(f"{API}/pods/{pod}").raise_for_status()
        wait_until(lambda: not pods(second), what="the pods are gone")
        assert engine.tags() == []
