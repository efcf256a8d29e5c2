"""A restored hub asks its providers what became of its pods: it may be on another machine."""

from pathlib import Path

from prime_cli.core.progress import Silent
from prime_cli.hub.context import open_hub
from prime_cli.hub.maintenance.backup import write_backup
from prime_cli.hub.maintenance.restore import read_backup
from prime_cli.hub.services.compute.offers import tag_prefix
from prime_cli.hub.services.compute.reconcile import sweep
from tests.helpers.machines import Machines
from tests.hub.house import OPERATOR, House
from tests.hub.pushing import settings_for
from tests.hub.services.compute.renting import API, Yard


def restored(yard: Yard, folder: Path, machines: Machines) -> House:
    """A new hub from a backup of the yard's, with `machines` as its provider."""
    target = folder / "hub.tar"
    write_backup(yard.house.hub, target, Silent())
    read_backup(open_hub(settings_for(folder / "new")), target, Silent())
    return House(folder / "new", clock=yard.house.clock, providers=(machines,))


def test_pods_that_are_not_here_have_ended(folder: Path, tmp_path: Path) -> None:
    yard = Yard(folder)
    pod = yard.rent()
    yard.arrive(pod)
    yard.pods()
    key = yard.house.key("ada")
    ada = restored(yard, tmp_path, Machines()).client(key)
    assert ada.get(f"{API}/pods").json()["data"] == []
    [past] = ada.get(f"{API}/pods/history").json()["data"]
    assert past["id"] == pod["id"]
    assert yard.pods() == [pod["id"]]


def test_pods_that_are_here_go_on(folder: Path, tmp_path: Path) -> None:
    yard = Yard(folder)
    pod = yard.rent()
    yard.arrive(pod)
    key = yard.house.key("ada")
    ada = restored(yard, tmp_path, yard.machines).client(key)
    assert ada.get(f"{API}/pods/{pod['id']}").json()["status"] == "ACTIVE"


def test_a_restored_hub_sweeps_nothing_of_the_one_that_it_was_made_from(
    folder: Path, tmp_path: Path
) -> None:
    yard = Yard(folder)
    new = restored(yard, tmp_path, yard.machines)
    yard.rent()
    assert tag_prefix(new.hub) != tag_prefix(yard.house.hub)
    assert sweep(new.hub, OPERATOR, dry_run=False).leaks == []
    assert len(yard.machines.seen) == 1
