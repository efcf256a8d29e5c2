"""A restored hub asks its providers what became of its pods: it may be on another machine."""

from pathlib import Path

import pytest
from sqlalchemy import update

from prime_cli.core.progress import Silent
from prime_cli.hub.context import open_hub
from prime_cli.hub.db.tables import disks
from prime_cli.hub.maintenance.backup import write_backup
from prime_cli.hub.maintenance.restore import read_backup
from prime_cli.hub.services.compute.gc import collect_garbage
from prime_cli.hub.services.compute.providers import tag_prefix
from tests.helpers.machines import DISK, Machines
from tests.hub.accounts_hub import OPERATOR, AccountsHub
from tests.hub.pushing import settings_for
from tests.hub.services.compute.renting import API, PodHub


def restored(pod_hub: PodHub, folder: Path, machines: Machines) -> AccountsHub:
    """A new hub from a backup of the pod_hub's, with `machines` as its provider."""
    target = folder / "hub.tar"
    write_backup(pod_hub.accounts_hub.hub, target, Silent())
    read_backup(open_hub(settings_for(folder / "new")), target, Silent())
    return AccountsHub(folder / "new", clock=pod_hub.accounts_hub.clock, providers=(machines,))


def test_pods_that_are_not_here_have_ended(folder: Path, tmp_path: Path) -> None:
    pod_hub = PodHub(folder)
    pod = pod_hub.rent()
    pod_hub.arrive(pod)
    pod_hub.pods()
    key = pod_hub.accounts_hub.key("ada")
    ada = restored(pod_hub, tmp_path, Machines()).client(key)
    assert ada.get(f"{API}/pods").json()["data"] == []
    [past] = ada.get(f"{API}/pods/history").json()["data"]
    assert past["id"] == pod["id"]
    assert pod_hub.pods() == [pod["id"]]


def test_pods_that_are_here_continue(folder: Path, tmp_path: Path) -> None:
    pod_hub = PodHub(folder)
    pod = pod_hub.rent()
    pod_hub.arrive(pod)
    key = pod_hub.accounts_hub.key("ada")
    ada = restored(pod_hub, tmp_path, pod_hub.machines).client(key)
    assert ada.get(f"{API}/pods/{pod['id']}").json()["status"] == "ACTIVE"


def test_a_restored_hub_sweeps_nothing_of_the_one_that_it_was_made_from(
    folder: Path, tmp_path: Path
) -> None:
    pod_hub = PodHub(folder)
    new = restored(pod_hub, tmp_path, pod_hub.machines)
    pod_hub.rent()
    assert tag_prefix(new.hub) != tag_prefix(pod_hub.accounts_hub.hub)
    assert collect_garbage(new.hub, OPERATOR, dry_run=False).leaks == []
    assert len(pod_hub.machines.seen) == 1


@pytest.mark.parametrize("shown", ["ACTIVE", "PROVISIONING", "DELETING"])
def test_disks_that_are_here_continue(folder: Path, tmp_path: Path, shown: str) -> None:
    pod_hub = PodHub(folder, Machines(place="engine_a"))
    body = {"disk": {"size": 1}, "provider": {"type": DISK.provider}}
    pod_hub.ada.post(f"{API}/disks", json=body).raise_for_status()
    with pod_hub.accounts_hub.hub.database.write() as connection:
        connection.execute(update(disks).values(status=shown))
    key = pod_hub.accounts_hub.key("ada")
    new = restored(pod_hub, tmp_path, pod_hub.machines)
    new.clock.wait(minutes=5)
    assert collect_garbage(new.hub, OPERATOR, dry_run=False).leaks == []
    (disk,) = new.client(key).get(f"{API}/disks").json()["data"]
    assert disk["status"] == ("DELETING" if shown == "DELETING" else "ACTIVE")
    assert len(pod_hub.machines.disks) == 1
