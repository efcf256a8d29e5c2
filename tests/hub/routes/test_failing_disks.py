"""Disks whose providers fail, hang or go, and whose hub is killed meanwhile."""

from collections.abc import Callable
from pathlib import Path

import pytest

from prime_cli.core.errors import StorageFailed, Unreachable
from tests.helpers.machines import Machines
from tests.hub.accounts_hub import AccountsHub
from tests.hub.routes.disks import API, ask, create, listed


class BrokenMachines(Machines):
    """Makes half a disk, and removes nothing while it is `stuck`."""

    stuck = False

    def make_disk(self, tag: str, size: int) -> None:
        super().make_disk(tag, size)
        raise StorageFailed("The rack is full")

    def remove_disk(self, tag: str) -> None:
        if self.stuck:
            raise Unreachable("The rack does not answer")
        super().remove_disk(tag)


class KilledMachines(Machines):
    """The process ends where a disk is to be made, or to be removed."""

    def make_disk(self, tag: str, size: int) -> None:
        if size > 100:
            super().make_disk(tag, size)
        raise KeyboardInterrupt

    def remove_disk(self, tag: str) -> None:
        super().remove_disk(tag)
        raise KeyboardInterrupt


class SlowMachines(Machines):
    """Somebody looks while a disk is made, when that has taken long and nothing is to be seen."""

    meanwhile: Callable[[], object]

    def make_disk(self, tag: str, size: int) -> None:
        self.meanwhile()
        super().make_disk(tag, size)


def test_what_cannot_be_made_leaves_nothing(folder: Path) -> None:
    machines = BrokenMachines()
    ada = AccountsHub(folder, providers=(machines,)).user("ada")
    answer = ask(ada)
    assert (answer.status_code, answer.json()["detail"]) == (507, "The rack is full")
    assert machines.disks == {}
    assert listed(ada) == []


def test_what_is_left_of_a_failure_is_shown_until_it_is_terminated(folder: Path) -> None:
    machines = BrokenMachines()
    machines.stuck = True
    ada = AccountsHub(folder, providers=(machines,)).user("ada")
    assert ask(ada, name="half").status_code == 507
    assert listed(ada) == ["half ERROR"]
    disk_id = ada.get(f"{API}/disks").json()["data"][0]["id"]
    assert ada.delete(f"{API}/disks/{disk_id}").status_code == 503
    assert listed(ada) == ["half DELETING"]
    machines.stuck = False
    assert ada.delete(f"{API}/disks/{disk_id}").status_code == 200
    assert machines.disks == {}
    assert listed(ada) == []


def test_after_a_kill_the_provider_is_asked_what_there_is(folder: Path) -> None:
    machines = KilledMachines()
    accounts_hub = AccountsHub(folder, providers=(machines,))
    ada = accounts_hub.user("ada")
    for size, name in ((100, "never"), (200, "made")):
        with pytest.raises(KeyboardInterrupt):
            ask(ada, size, name=name)
    assert sorted(listed(ada)) == ["made PROVISIONING", "never PROVISIONING"]
    first = ada.get(f"{API}/disks").json()["data"]
    assert ada.delete(f"{API}/disks/{first[0]['id']}").status_code == 409
    accounts_hub.clock.wait(seconds=61)
    assert listed(ada) == ["made ACTIVE"]
    made = ada.get(f"{API}/disks").json()["data"][0]["id"]
    with pytest.raises(KeyboardInterrupt):
        ada.delete(f"{API}/disks/{made}")
    assert listed(ada) == ["made DELETING"]
    accounts_hub.clock.wait(seconds=61)
    assert listed(ada) == []


def test_a_disk_that_takes_long_to_be_made_is_not_lost(folder: Path) -> None:
    machines = SlowMachines()
    accounts_hub = AccountsHub(folder, providers=(machines,))
    ada = accounts_hub.user("ada")
    seen: list[list[str]] = []

    def look() -> None:
        accounts_hub.clock.wait(seconds=61)
        seen.append(listed(ada))

    machines.meanwhile = look
    create(ada, name="slow")
    assert seen == [[]]
    assert listed(ada) == ["slow ACTIVE"]


def test_a_disk_of_a_provider_that_is_gone_stays(folder: Path) -> None:
    ada = AccountsHub(folder, providers=(Machines(),)).user("ada")
    disk_id = create(ada, name="kept")["id"]
    later = AccountsHub(folder)
    client = later.client(later.key("ada"))
    assert listed(client) == ["kept ACTIVE"]
    assert client.delete(f"{API}/disks/{disk_id}").status_code == 403
