from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec.structs import replace
from sqlalchemy import insert

from prime_cli.hub.db.tables import pod_disks, pods
from prime_cli.hub.services.audit import list_entries
from prime_cli.hub.services.compute.disks import MOST_DISKS
from prime_cli.wire.offers import DiskOffer, Spec
from tests.helpers.machines import DISK, Machines
from tests.hub.accounts_hub import AccountsHub, actions
from tests.hub.routes.disks import API, ask, create, listed


@pytest.fixture
def machines() -> Machines:
    return Machines()


@pytest.fixture
def accounts_hub(folder: Path, machines: Machines) -> AccountsHub:
    return AccountsHub(folder, providers=(machines,))


def attach(accounts_hub: AccountsHub, disk: dict[str, Any]) -> None:
    with accounts_hub.hub.database.write() as connection:
        connection.execute(
            insert(pods).values(
                id="pod-1", tag="tag-1", user_id=disk["userId"], shared=False, name="pod",
                provider="paper", offer="{}", request="{}", nodes=1, status="ACTIVE",
                addresses="[]", host_keys="[]", created_at="x", updated_at="x", stop_at="x",
            )
        )  # fmt: skip
        connection.execute(insert(pod_disks).values(pod_id="pod-1", disk_id=disk["id"]))


def test_a_disk_is_made_named_and_removed(accounts_hub: AccountsHub, machines: Machines) -> None:
    ada = accounts_hub.user("ada")
    made = create(ada, 250, name="data")
    assert list(machines.disks.values()) == [250]
    assert (made["status"], made["size"], made["priceHr"]) == ("ACTIVE", 250, 0.025)
    assert (made["providerType"], made["pods"], made["clusters"]) == ("paper", [], [])
    assert made["info"]["dataCenterId"] == "US-KS-2"
    address = f"{API}/disks/{made['id']}"
    assert ada.get(address).json() == made
    assert ada.patch(address, json={"name": "results"}).json()["name"] == "results"
    assert listed(ada) == ["results ACTIVE"]
    assert ada.delete(address).json() == {"status": "TERMINATED"}
    assert machines.disks == {}
    assert listed(ada) == []
    assert ada.get(address).status_code == ada.delete(address).status_code == 404
    done = actions(list_entries(accounts_hub.hub, action="disk"))
    assert [action for _, action, _ in done] == ["disk.create", "disk.rename", "disk.terminate"]


def test_a_disk_without_a_name_is_called_by_its_id(accounts_hub: AccountsHub) -> None:
    made = create(accounts_hub.user("ada"))
    assert made["name"] == f"disk-{made['id'][:8]}"


def test_a_user_has_no_disks_without_end(accounts_hub: AccountsHub, machines: Machines) -> None:
    ada = accounts_hub.user("ada")
    made = [create(ada) for _ in range(MOST_DISKS)]
    kind = {"provider": {"type": "paper"}}
    refused = ada.post(f"{API}/disks", json={"disk": {"size": 100}, **kind})
    assert (refused.status_code, "the limit per user" in refused.json()["detail"]) == (409, True)
    assert len(machines.disks) == MOST_DISKS
    create(accounts_hub.user("bob"))
    assert ada.delete(f"{API}/disks/{made[0]['id']}").is_success
    create(ada)


def test_the_newest_disk_is_listed_first(accounts_hub: AccountsHub) -> None:
    ada = accounts_hub.user("ada")
    for name in ("one", "two", "three"):
        create(ada, name=name)
        accounts_hub.clock.wait(seconds=1)
    assert listed(ada) == ["three ACTIVE", "two ACTIVE", "one ACTIVE"]
    page = ada.get(f"{API}/disks", params={"offset": 1, "limit": 1}).json()
    assert [disk["name"] for disk in page["data"]] == ["two"]
    assert (page["total_count"], page["offset"], page["limit"]) == (3, 1, 1)


@pytest.mark.parametrize(
    ("size", "told"),
    [
        (0, "from 10 to 1000 GB, not 0"),
        (1001, "from 10 to 1000 GB, not 1001"),
        (17, "from 10 GB in steps of 5 GB, not 17"),
    ],
)
def test_a_size_that_is_not_offered_is_refused(
    accounts_hub: AccountsHub, machines: Machines, size: int, told: str
) -> None:
    machines.kinds_of_disks = [replace(DISK, spec=Spec(min_count=10, max_count=1000, step=5))]
    answer = ask(accounts_hub.user("ada"), size)
    assert answer.status_code == 422
    assert told in answer.json()["detail"]
    assert machines.disks == {}


def test_a_disk_of_no_price_has_none(accounts_hub: AccountsHub, machines: Machines) -> None:
    machines.kinds_of_disks = [DiskOffer(provider="paper", spec=Spec(min_count=1))]
    assert create(accounts_hub.user("ada"))["priceHr"] is None


def test_the_default_size_may_be_in_the_price(
    accounts_hub: AccountsHub, machines: Machines
) -> None:
    spec = Spec(default_count=100, price_per_unit=0.5, default_included_in_price=True)
    machines.kinds_of_disks = [replace(DISK, spec=spec)]
    ada = accounts_hub.user("ada")
    assert [create(ada, size)["priceHr"] for size in (50, 100, 101)] == [0, 0, 0.5]


def test_a_kind_of_disk_is_named_where_there_are_several(
    accounts_hub: AccountsHub, machines: Machines
) -> None:
    machines.kinds_of_disks = [DISK, replace(DISK, cloud_id="disk_fi", data_center="FIN-01")]
    ada = accounts_hub.user("ada")
    refused = ask(ada)
    assert refused.status_code == 422
    assert "`disk_fi`" in refused.json()["hint"]
    assert create(ada, cloudId="disk_fi")["info"]["dataCenterId"] == "FIN-01"
    assert create(ada, dataCenterId="US-KS-2")["info"]["cloudId"] == "disk_ks"
    refused = ask(ada, cloudId="disk_us", country="US")
    assert refused.status_code == 404
    assert refused.json()["detail"] == "No disk is offered with cloudId `disk_us`, country `US`"


def test_without_providers_there_is_nothing_to_rent(client: httpx.Client) -> None:
    assert ask(client).status_code == 403
    assert listed(client) == []


def test_disks_of_others_are_as_none(accounts_hub: AccountsHub) -> None:
    ada, bob = accounts_hub.user("ada"), accounts_hub.user("bob")
    address = f"{API}/disks/{create(ada)['id']}"
    assert listed(bob) == []
    assert bob.get(address).status_code == 404
    assert bob.patch(address, json={"name": "mine"}).status_code == 404
    assert bob.delete(address).status_code == 404
    assert accounts_hub.client().get(address).status_code == 401


def test_a_team_sees_its_disks_and_its_admins_change_them(accounts_hub: AccountsHub) -> None:
    ada, bob, eve = (accounts_hub.user(name) for name in ("ada", "bob", "eve"))
    accounts_hub.user("dan")
    team = accounts_hub.team("lab", ada="MEMBER", bob="MEMBER", eve="ADMIN")
    disk = create(ada, team=team, name="shared")
    assert disk["teamId"] == team
    address = f"{API}/disks/{disk['id']}"
    assert listed(ada) == listed(bob) == listed(eve) == ["shared ACTIVE"]
    assert bob.patch(address, json={"name": "bobs"}).status_code == 403
    assert bob.delete(address).status_code == 403
    assert eve.patch(address, json={"name": "eves"}).status_code == 200
    reader = accounts_hub.client(accounts_hub.key("eve", scope="read"))
    assert reader.get(address).status_code == 200
    assert reader.delete(address).status_code == 403
    assert eve.delete(address).status_code == 200


def test_a_key_rents_only_for_its_owner(accounts_hub: AccountsHub) -> None:
    ada = accounts_hub.user("ada")
    accounts_hub.user("bob")
    team, others = accounts_hub.team("lab", ada="MEMBER"), accounts_hub.team("crew", bob="MEMBER")
    assert ask(ada, team=others).status_code == 404
    only_team = accounts_hub.client(accounts_hub.key("ada", owner="lab"))
    assert ask(only_team).status_code == 403
    create(only_team, team=team, name="of lab")
    assert ask(accounts_hub.client(accounts_hub.key("ada", scope="read"))).status_code == 403
    create(ada, name="of ada")
    assert listed(only_team) == ["of lab ACTIVE"]
    assert sorted(listed(ada)) == ["of ada ACTIVE", "of lab ACTIVE"]


def test_a_disk_that_a_pod_has_is_not_removed(
    accounts_hub: AccountsHub, machines: Machines
) -> None:
    ada = accounts_hub.user("ada")
    disk = create(ada, name="data")
    attach(accounts_hub, disk)
    address = f"{API}/disks/{disk['id']}"
    assert ada.get(address).json()["pods"] == ["pod-1"]
    refused = ada.delete(address)
    assert refused.status_code == 409
    assert "attached to the pod `pod-1`" in refused.json()["detail"]
    assert len(machines.disks) == 1
