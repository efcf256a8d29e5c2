"""Of several servers over one database, each looks after the machines that it reaches."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import Table, delete, select, update

from prime_cli.core.errors import EnvironmentFailed
from prime_cli.hub.compute.provider import PodStatus
from prime_cli.hub.compute.registry import InstalledProviders
from prime_cli.hub.db.tables import disks, holders, pods
from prime_cli.hub.services.audit import list_entries
from prime_cli.hub.services.compute.leaks import sweep_all
from prime_cli.hub.services.compute.offers import tag_prefix
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

    def rounds(self, *, of: AccountsHub | None = None, count: int = 1) -> None:
        """Seconds in which a server attends to the others."""
        PodWatcher(_nothing, (of or self.first.accounts_hub).hub).attend(_Count(count))

    def watch_all(self) -> None:
        """A round of both servers over all pods, and a sweep."""
        self.first.accounts_hub.clock.wait(seconds=31)
        for hub in (self.first.accounts_hub.hub, self.second.hub):
            assert refresh_all(hub, 30)
            assert sweep_all(hub, 30) is not None

    @contextmanager
    def attended(self) -> Iterator[None]:
        """The first server attends to others meanwhile, in a thread, as when it is served."""
        over = threading.Event()

        def wait(_seconds: float) -> bool:
            return over.wait(0.02)

        watch = PodWatcher(_nothing, self.first.accounts_hub.hub)
        thread = threading.Thread(target=watch.attend, args=(wait,))
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(60)


class _Count:
    def __init__(self, count: int) -> None:
        self._left = count

    def __call__(self, _seconds: float) -> bool:
        self._left -= 1
        return self._left < 0


async def _nothing(_scope: Any, _receive: Any, _send: Any) -> None:
    return None


@pytest.fixture
def pair(folder: Path) -> Pair:
    first = PodHub(folder, Machines(place="engine_a"))
    others = Machines(place="engine_b")
    second = AccountsHub(folder, clock=first.accounts_hub.clock, providers=(others,))
    return _pair(first, second, others)


def _pair(first: PodHub, second: AccountsHub, others: Machines) -> Pair:
    key = first.accounts_hub.key("ada")
    made = Pair(first, second, others, first.accounts_hub.client(key), second.client(key))
    made.rounds()
    return made


def status(client: httpx.Client, pod: dict[str, Any]) -> tuple[str, str | None]:
    (found,) = client.get(f"{API}/pods/status", params={"pod_ids": pod["id"]}).json()["data"]
    return found["status"], found["installationFailure"]


def test_another_server_never_calls_a_pod_dead(pair: Pair) -> None:
    pod = pair.first.rent()
    pair.first.arrive(pod)
    assert status(pair.here, pod) == (ACTIVE, None)
    for _ in range(3):
        pair.rounds()
        pair.watch_all()
        pair.rounds()
        assert status(pair.there, pod) == (ACTIVE, None)
        assert pair.there.get(f"{API}/pods/{pod['id']}").json()["status"] == ACTIVE
        assert pair.there.post(f"{API}/pods/sweep", json={"dryRun": True}).json()["leaks"] == []
    assert list(pair.first.machines.seen) == [pair.first.tag(pod)]


def test_a_pod_that_is_being_made_elsewhere_is_not_called_interrupted(pair: Pair) -> None:
    pod = pair.first.rent()
    pair.first.accounts_hub.clock.wait(minutes=5)
    pair.rounds()
    assert status(pair.there, pod) == ("PROVISIONING", None)
    pair.first.arrive(pod)
    assert status(pair.here, pod) == (ACTIVE, None)


def test_a_pod_is_terminated_by_its_own_server_within_a_round(pair: Pair) -> None:
    pod = pair.first.rent()
    pair.first.arrive(pod)
    answers = [pair.there.delete(f"{API}/pods/{pod['id']}").json() for _ in range(2)]
    assert answers == [{"status": "DELETING"}] * 2
    assert status(pair.there, pod)[0] == "DELETING"
    pair.rounds()
    assert pair.first.machines.seen == {}
    assert status(pair.there, pod)[0] == "TERMINATED"
    hub = pair.first.accounts_hub
    entries = [entry[1] for entry in actions(list_entries(hub.hub)) if entry[2] == pod["id"]]
    assert entries == ["pod.create", "pod.terminate"]


def test_what_its_server_could_not_end_is_tried_again(pair: Pair) -> None:
    pod = pair.first.rent()
    pair.first.arrive(pod)
    end = pair.first.machines.end

    def fail(_tag: str) -> None:
        raise EnvironmentFailed("It hangs")

    pair.first.machines.end = fail  # type: ignore[method-assign, assignment]
    pair.there.delete(f"{API}/pods/{pod['id']}").raise_for_status()
    pair.rounds()
    assert status(pair.there, pod) == ("DELETING", "It hangs")
    pair.first.machines.end = end  # type: ignore[method-assign]
    pair.watch_all()
    assert status(pair.there, pod)[0] == "TERMINATED"


def test_a_log_is_read_by_the_server_that_has_the_pod(pair: Pair) -> None:
    pod = pair.first.rent()
    with pair.attended():
        answer = pair.there.get(f"{API}/pods/{pod['id']}/log", params={"tail": 1})
        assert answer.json() == {"logs": "ready"}
        pair.first.machines.started.clear()
        answer = pair.there.get(f"{API}/pods/{pod['id']}/log")
    assert answer.status_code >= 400
    assert "was never started" in answer.text


def test_a_server_that_stays_away_is_lost_after_a_minute_and_found_again(pair: Pair) -> None:
    pod = pair.first.rent()
    pair.first.arrive(pod)
    assert status(pair.here, pod)[0] == ACTIVE
    pair.first.accounts_hub.clock.wait(seconds=59)
    assert status(pair.there, pod) == (ACTIVE, None)
    pair.first.accounts_hub.clock.wait(seconds=2)
    shown, why = status(pair.there, pod)
    assert shown == "UNKNOWN"
    assert why is not None
    assert "has not been heard of since 2026-11-21T12:00:00Z" in why
    answer = pair.there.get(f"{API}/pods/{pod['id']}/log")
    assert (answer.status_code, answer.json()["code"]) == (503, "unreachable")
    assert pair.there.delete(f"{API}/pods/{pod['id']}").json() == {"status": "DELETING"}
    assert status(pair.there, pod)[0] == "UNKNOWN"
    # It was away, not gone: it does what was asked meanwhile.
    pair.rounds()
    assert status(pair.there, pod)[0] == "TERMINATED"
    assert pair.first.machines.seen == {}


def test_pods_of_a_lost_server_end_with_their_deadline(pair: Pair) -> None:
    pod = pair.first.rent(stopAt="2026-11-21T13:00:00Z")
    pair.first.arrive(pod)
    assert status(pair.here, pod)[0] == ACTIVE
    pair.first.accounts_hub.clock.wait(minutes=59)
    assert refresh_all(pair.second.hub, 30)
    assert status(pair.there, pod)[0] == "UNKNOWN"
    pair.first.accounts_hub.clock.wait(minutes=2)
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
    pod = pair.first.rent()
    pair.first.arrive(pod)
    assert status(pair.here, pod)[0] == ACTIVE
    bare = AccountsHub(folder, clock=pair.first.accounts_hub.clock)
    client = bare.client(pair.first.accounts_hub.key("ada"))
    assert status(client, pod) == (ACTIVE, None)
    assert client.delete(f"{API}/pods/{pod['id']}").json() == {"status": "DELETING"}
    pair.rounds()
    assert status(client, pod)[0] == "TERMINATED"


def test_a_disk_is_removed_and_attached_by_its_own_server(pair: Pair) -> None:
    body = {"disk": {"size": 1}, "provider": {"type": DISK.provider}}
    disk = pair.here.post(f"{API}/disks", json=body).raise_for_status().json()["id"]
    refused = pair.there.post(f"{API}/pods", json=wish() | {"disks": [disk]})
    assert refused.status_code == 409
    assert "another server of this hub" in refused.text
    assert pair.there.delete(f"{API}/disks/{disk}").json() == {"status": "DELETING"}
    # A minute later any server asks what became of it.
    pair.first.accounts_hub.clock.wait(minutes=2)
    (shown,) = pair.there.get(f"{API}/disks").json()["data"]
    assert shown["status"] == "DELETING"
    assert len(pair.first.machines.disks) == 1
    pair.rounds()
    assert pair.there.get(f"{API}/disks").json()["data"] == []
    assert pair.first.machines.disks == {}


def unclaim(pair: Pair) -> None:
    """As after an upgrade from a hub without holders, or a restore."""
    with pair.second.hub.database.write() as connection:
        for table in (pods, disks):
            connection.execute(update(table).values(holder=None))
        connection.execute(delete(holders))


def holder_of(pair: Pair, table: Table) -> str | None:
    with pair.second.hub.database.read() as connection:
        found: str | None = connection.execute(select(table.c.holder)).scalar_one()
    return found


def test_a_pod_without_a_holder_gets_the_one_that_has_it(pair: Pair) -> None:
    pod = pair.first.rent()
    pair.first.arrive(pod)
    assert status(pair.here, pod)[0] == ACTIVE
    unclaim(pair)
    # Both have just started, and the other asks first.
    assert refresh_all(pair.second.hub, 30)
    assert sweep_all(pair.second.hub, 30) is not None
    assert (status(pair.there, pod)[0], holder_of(pair, pods)) == (ACTIVE, None)
    pair.rounds()
    assert refresh_all(pair.first.accounts_hub.hub, 30)
    assert (status(pair.there, pod)[0], holder_of(pair, pods)) == (ACTIVE, "engine_a")
    pair.first.accounts_hub.clock.wait(minutes=2)
    pair.rounds()
    pair.watch_all()
    assert status(pair.there, pod)[0] == ACTIVE
    assert list(pair.first.machines.seen) == [pair.first.tag(pod)]


def test_a_pod_that_nobody_has_claimed_ends_once_no_other_server_lives(pair: Pair) -> None:
    pod = pair.first.rent()
    pair.first.arrive(pod)
    assert status(pair.here, pod)[0] == ACTIVE
    unclaim(pair)
    for _ in range(3):
        pair.first.accounts_hub.clock.wait(minutes=2)
        for server in (pair.first.accounts_hub, pair.second):
            pair.rounds(of=server)
        assert refresh_all(pair.second.hub, 30)
        assert status(pair.there, pod)[0] == ACTIVE
    pair.first.accounts_hub.clock.wait(minutes=2)
    pair.rounds(of=pair.second)
    assert refresh_all(pair.second.hub, 30)
    assert status(pair.there, pod)[0] == "TERMINATED"


def test_a_pod_that_nobody_has_claimed_ends_at_its_deadline(pair: Pair) -> None:
    pod = pair.first.rent(stopAt="2026-11-21T13:00:00Z")
    pair.first.arrive(pod)
    assert status(pair.here, pod)[0] == ACTIVE
    unclaim(pair)
    pair.first.accounts_hub.clock.wait(minutes=61)
    pair.rounds()
    assert refresh_all(pair.second.hub, 30)
    (past,) = pair.there.get(f"{API}/pods/history").json()["data"]
    assert past["terminatedAt"] == "2026-11-21T13:00:00.000000Z"


@pytest.mark.parametrize("is_asked_to_go", [False, True])
def test_a_disk_without_a_holder_gets_the_one_that_has_it(pair: Pair, is_asked_to_go: bool) -> None:
    body = {"disk": {"size": 1}, "provider": {"type": DISK.provider}}
    pair.here.post(f"{API}/disks", json=body).raise_for_status()
    shown = "DELETING" if is_asked_to_go else "ACTIVE"
    with pair.second.hub.database.write() as connection:
        connection.execute(update(disks).values(status=shown))
    unclaim(pair)
    pair.first.accounts_hub.clock.wait(minutes=2)
    pair.rounds()
    for _ in range(2):
        (disk,) = pair.there.get(f"{API}/disks").json()["data"]
        assert disk["status"] == shown
    assert holder_of(pair, disks) is None
    assert sweep_all(pair.first.accounts_hub.hub, 30) is not None
    assert holder_of(pair, disks) == "engine_a"
    assert len(pair.first.machines.disks) == 1


def test_two_servers_of_one_engine_are_as_one(folder: Path) -> None:
    machines = Machines(place="engine_a")
    first = PodHub(folder, machines)
    second = AccountsHub(folder, clock=first.accounts_hub.clock, providers=(machines,))
    pair = _pair(first, second, machines)
    pod = first.rent()
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


def test_an_errand_is_run_once_by_many_workers(pair: Pair) -> None:
    pod = pair.first.rent()
    ended: list[str] = []
    end = pair.first.machines.end

    def note(tag: str) -> None:
        ended.append(tag)
        time.sleep(0.05)
        end(tag)

    pair.first.machines.end = note  # type: ignore[method-assign]
    pair.there.delete(f"{API}/pods/{pod['id']}").raise_for_status()
    workers = [threading.Thread(target=pair.rounds) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert ended == [pair.first.tag(pod)]
