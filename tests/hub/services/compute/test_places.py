"""Of several servers over one database, one has all pods of a provider."""

import logging
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import Table, select, update

from prime_cli.hub.compute.provider import PodStatus
from prime_cli.hub.compute.registry import InstalledProviders
from prime_cli.hub.db.tables import pods
from prime_cli.hub.services.audit import list_entries
from prime_cli.hub.services.compute.gc import collect_all_garbage
from prime_cli.hub.services.compute.providers import tag_prefix
from prime_cli.hub.services.compute.reconcile import refresh_all
from prime_cli.hub.serving.application import PodWatcher
from prime_cli.wire.pods import ACTIVE
from tests.helpers.machines import DISK, Machines
from tests.hub.accounts_hub import AccountsHub, actions
from tests.hub.services.compute.renting import API, PodHub, wish


@dataclass
class Pair:
    """Two servers with machines of their own; Ada has a client of each."""

    first: PodHub
    second: AccountsHub
    others: Machines
    here: httpx.Client
    there: httpx.Client

    def watch_all(self) -> None:
        """A round of both servers over all pods, and a sweep."""
        self.first.accounts_hub.clock.wait(seconds=31)
        for hub in (self.first.accounts_hub.hub, self.second.hub):
            assert refresh_all(hub, 30)
            assert collect_all_garbage(hub, 30) is not None

    def rent(self, **changes: Any) -> dict[str, Any]:
        """A pod of the first server that is up."""
        pod = self.first.rent(**changes)
        self.first.arrive(pod)
        assert status(self.here, pod) == (ACTIVE, None)
        return pod


@pytest.fixture
def pair(folder: Path) -> Pair:
    first = PodHub(folder, Machines(place="engine_a"))
    others = Machines(place="engine_b")
    return _pair(first, AccountsHub(folder, clock=first.accounts_hub.clock, providers=(others,)))


def _pair(first: PodHub, second: AccountsHub) -> Pair:
    key = first.accounts_hub.key("ada")
    (others,) = second.hub.settings.providers
    assert isinstance(others, Machines)
    return Pair(first, second, others, first.accounts_hub.client(key), second.client(key))


def status(client: httpx.Client, pod: dict[str, Any]) -> tuple[str, str | None]:
    (found,) = client.get(f"{API}/pods/status", params={"pod_ids": pod["id"]}).json()["data"]
    return found["status"], found["installationFailure"]


def is_refused(answer: httpx.Response) -> bool:
    said = answer.json()
    return answer.status_code == 503 and "at another of its servers" in str(said)


def test_another_server_lists_pods_and_never_calls_one_dead(pair: Pair) -> None:
    pod = pair.rent()
    for _ in range(3):
        pair.watch_all()
        assert status(pair.there, pod) == (ACTIVE, None)
        assert pair.there.get(f"{API}/pods/{pod['id']}").json()["status"] == ACTIVE
        assert pair.there.post(f"{API}/pods/sweep", json={"dryRun": True}).json()["leaks"] == []
    assert list(pair.first.machines.seen) == [pair.first.tag(pod)]


def test_a_pod_that_is_being_made_elsewhere_is_not_called_interrupted(pair: Pair) -> None:
    pod = pair.first.rent()
    pair.first.accounts_hub.clock.wait(minutes=5)
    assert status(pair.there, pod) == ("PROVISIONING", None)
    pair.first.arrive(pod)
    assert status(pair.here, pod) == (ACTIVE, None)


def test_another_server_neither_offers_nor_creates_nor_reads_logs(pair: Pair) -> None:
    pod = pair.rent()
    assert is_refused(pair.there.get(f"{API}/availability/gpus"))
    assert is_refused(pair.there.post(f"{API}/pods", json=wish()))
    assert is_refused(pair.there.get(f"{API}/pods/{pod['id']}/log"))
    assert pair.others.started == {}
    pair.first.rent(pair.first.ada)


def test_another_server_takes_over_when_no_pod_is_left(pair: Pair) -> None:
    pod = pair.rent()
    pair.here.delete(f"{API}/pods/{pod['id']}").raise_for_status()
    pair.there.post(f"{API}/pods", json=wish()).raise_for_status()
    assert is_refused(pair.here.post(f"{API}/pods", json=wish()))


def test_a_server_says_at_its_start_that_another_has_the_pods(
    pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    pair.rent()
    with caplog.at_level(logging.WARNING):
        for hub in (pair.first.accounts_hub.hub, pair.second.hub):
            PodWatcher(_nothing, hub).watch(lambda _: True)
    (said,) = [each.message for each in caplog.records if "Another server" in each.message]
    assert said == "Another server of this hub has the pods of `paper`: this one creates none"


async def _nothing(_scope: Any, _receive: Any, _send: Any) -> None:
    return None


def test_a_pod_is_terminated_by_its_own_server_at_its_next_round(pair: Pair) -> None:
    pod = pair.rent()
    answers = [pair.there.delete(f"{API}/pods/{pod['id']}").json() for _ in range(2)]
    assert answers == [{"status": "DELETING"}] * 2
    assert status(pair.there, pod)[0] == "DELETING"
    pair.watch_all()
    assert pair.first.machines.seen == {}
    assert status(pair.there, pod)[0] == "TERMINATED"
    hub = pair.first.accounts_hub
    entries = [entry[1] for entry in actions(list_entries(hub.hub)) if entry[2] == pod["id"]]
    assert entries == ["pod.create", "pod.terminate"]


def test_pods_of_a_server_that_is_gone_end_after_their_deadline(pair: Pair) -> None:
    pod = pair.rent(stopAt="2026-11-21T13:00:00Z")
    pair.first.accounts_hub.clock.wait(minutes=61)
    assert refresh_all(pair.second.hub, 30)
    assert status(pair.there, pod) == (ACTIVE, None)
    pair.first.accounts_hub.clock.wait(minutes=5)
    assert refresh_all(pair.second.hub, 30)
    (past,) = pair.there.get(f"{API}/pods/history").json()["data"]
    assert past["terminatedAt"] == "2026-11-21T13:00:00.000000Z"


def test_every_server_sweeps_its_own_machines_only(pair: Pair) -> None:
    tag = f"{tag_prefix(pair.second.hub)}0123456789ab"
    for machines in (pair.first.machines, pair.others):
        machines.seen[tag] = PodStatus(ACTIVE)
    pod = pair.first.rent()
    pair.watch_all()
    assert pair.others.seen == {}
    assert list(pair.first.machines.seen) == [pair.first.tag(pod)]


def test_a_server_without_machines_shows_and_ends_those_of_another(
    folder: Path, pair: Pair
) -> None:
    pod = pair.rent()
    bare = AccountsHub(folder, clock=pair.first.accounts_hub.clock)
    client = bare.client(pair.first.accounts_hub.key("ada"))
    assert status(client, pod) == (ACTIVE, None)
    assert client.delete(f"{API}/pods/{pod['id']}").json() == {"status": "DELETING"}
    pair.watch_all()
    assert status(client, pod)[0] == "TERMINATED"


def test_a_disk_is_removed_and_attached_by_its_own_server(pair: Pair) -> None:
    body = {"disk": {"size": 1}, "provider": {"type": DISK.provider}}
    disk = pair.here.post(f"{API}/disks", json=body).raise_for_status().json()["id"]
    refused = pair.there.post(f"{API}/pods", json=wish() | {"disks": [disk]})
    assert refused.status_code == 409
    assert "another server of this hub" in refused.text
    assert is_refused(pair.there.delete(f"{API}/disks/{disk}"))
    # A minute later any server asks what became of it.
    pair.first.accounts_hub.clock.wait(minutes=2)
    (shown,) = pair.there.get(f"{API}/disks").json()["data"]
    assert shown["status"] == "ACTIVE"
    pair.here.delete(f"{API}/disks/{disk}").raise_for_status()
    assert pair.there.get(f"{API}/disks").json()["data"] == []
    assert pair.first.machines.disks == {}


def test_a_restored_pod_gets_the_server_that_has_it(pair: Pair) -> None:
    pod = pair.rent()
    with pair.second.hub.database.write() as connection:
        connection.execute(update(pods).values(holder=None))
    assert refresh_all(pair.first.accounts_hub.hub, 30)
    assert _holder(pair, pods) == "engine_a"
    pair.watch_all()
    assert status(pair.there, pod)[0] == ACTIVE
    assert list(pair.first.machines.seen) == [pair.first.tag(pod)]


def _holder(pair: Pair, table: Table) -> str | None:
    with pair.second.hub.database.read() as connection:
        found: str | None = connection.execute(select(table.c.holder)).scalar_one()
    return found


def test_two_servers_of_one_engine_are_as_one(folder: Path) -> None:
    machines = Machines(place="engine_a")
    first = PodHub(folder, machines)
    second = AccountsHub(folder, clock=first.accounts_hub.clock, providers=(machines,))
    pair = _pair(first, second)
    pod = first.rent()
    pair.there.post(f"{API}/pods", json=wish()).raise_for_status()
    first.accounts_hub.clock.wait(minutes=5)
    # The server that was making it is gone: the other knows that the engine has nothing of it.
    machines.seen.clear()
    assert refresh_all(second.hub, 30)
    assert pair.there.get(f"{API}/pods").json()["data"] == []
    assert "its creation was interrupted" in str(status(pair.there, pod)[1])


def test_processes_with_one_folder_of_data_are_one_server(tmp_path: Path) -> None:
    ids: list[str] = []
    start = threading.Barrier(8)

    def read() -> None:
        start.wait(60)
        ids.append(InstalledProviders(tmp_path / "data", is_embedded=False).server)

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(ids) == 8
    assert len(set(ids)) == 1
    assert InstalledProviders(tmp_path / "other", is_embedded=False).server not in ids
