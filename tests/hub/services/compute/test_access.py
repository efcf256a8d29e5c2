"""Who sees a pod, who may end it, and whose keys open it."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from prime_cli.hub.services.teams import remove_member
from prime_cli.hub.services.users import create_user
from tests.helpers.ssh_keys import line
from tests.hub.accounts_hub import OPERATOR
from tests.hub.services.compute.renting import API, PodHub, wish


class Lab(PodHub):
    """A team of Ada, who rents, Meg, who is its admin, and the members Bob and Joe; Eve is not."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.bob = self.tenant("bob", 2)
        self.joe = self.tenant("joe", 3)
        self.meg = self.tenant("meg", 4)
        self.eve = self.tenant("eve", 5)
        self.team = self.accounts_hub.team(
            "lab", ada="MEMBER", bob="MEMBER", joe="MEMBER", meg="ADMIN"
        )

    def id_of(self, client: httpx.Client) -> str:
        return str(client.get(f"{API}/user/whoami").json()["data"]["id"])

    def who_sees(self, pod: dict[str, Any]) -> set[str]:
        everybody = {"ada": self.ada, "bob": self.bob, "joe": self.joe, "meg": self.meg}
        return {
            slug
            for slug, client in (everybody | {"eve": self.eve}).items()
            if pod["id"] in self.pods(client)
        }


@pytest.fixture
def lab(folder: Path) -> Lab:
    return Lab(folder)


def keys(lab: Lab) -> list[str]:
    [order] = lab.machines.started.values()
    return sorted(order.authorized_keys)


def test_a_pod_is_private_to_its_owner(lab: Lab) -> None:
    pod = lab.rent()
    assert lab.who_sees(pod) == {"ada"}
    assert keys(lab) == [line(1)]


def test_a_pod_of_a_team_is_its_users_and_the_admins(lab: Lab) -> None:
    pod = lab.rent(team={"teamId": lab.team})
    assert (lab.who_sees(pod), pod["teamId"]) == ({"ada", "meg"}, lab.team)
    assert keys(lab) == sorted([line(1), line(4)])


@pytest.mark.parametrize("name", ["sharedWithTeam", "shared_with_team"])
def test_a_shared_pod_is_the_whole_teams(lab: Lab, name: str) -> None:
    pod = lab.rent(team={"teamId": lab.team}, **{name: True})
    assert lab.who_sees(pod) == {"ada", "bob", "joe", "meg"}
    assert keys(lab) == sorted(line(number) for number in (1, 2, 3, 4))


@pytest.mark.parametrize("name", ["teamMemberIds", "team_member_ids"])
def test_a_pod_may_name_members(lab: Lab, name: str) -> None:
    pod = lab.rent(team={"teamId": lab.team}, **{name: [lab.id_of(lab.bob)]})
    assert lab.who_sees(pod) == {"ada", "bob", "meg"}
    assert keys(lab) == sorted([line(1), line(2), line(4)])


def test_sharing_needs_a_team_and_members_of_it(lab: Lab) -> None:
    alone = lab.ada.post(f"{API}/pods", json=wish() | {"sharedWithTeam": True})
    assert (alone.status_code, "needs a team" in alone.json()["detail"]) == (422, True)
    stranger = {"team": {"teamId": lab.team}, "teamMemberIds": [lab.id_of(lab.eve)]}
    assert lab.ada.post(f"{API}/pods", json=wish() | stranger).status_code == 404
    other = lab.eve.post(f"{API}/pods", json=wish() | {"team": {"teamId": lab.team}})
    assert other.status_code == 404


def test_members_who_see_a_pod_do_not_end_it(lab: Lab) -> None:
    pod = lab.rent(team={"teamId": lab.team}, sharedWithTeam=True)
    refused = lab.bob.delete(f"{API}/pods/{pod['id']}")
    assert (refused.status_code, "Only `ada`" in refused.json()["detail"]) == (403, True)
    assert lab.meg.delete(f"{API}/pods/{pod['id']}").json() == {"status": "TERMINATED"}
    assert [past["id"] for past in lab.history(lab.bob)] == [pod["id"]]
    assert lab.history(lab.eve) == []


def test_former_members_see_only_their_own_pods(lab: Lab) -> None:
    pod = lab.rent(team={"teamId": lab.team}, teamMemberIds=[lab.id_of(lab.bob)])
    for slug in ("ada", "bob"):
        remove_member(lab.accounts_hub.hub, OPERATOR, "lab", slug)
    assert lab.who_sees(pod) == {"ada", "meg"}
    assert lab.ada.delete(f"{API}/pods/{pod['id']}").is_success


def test_who_has_left_the_team_gives_its_disks_to_no_pod(lab: Lab) -> None:
    offer = lab.machines.disk_offers()[0]
    wanted = {"disk": {"size": 100, "name": "weights", "cloudId": offer.cloud_id}}
    sent = wanted | {"provider": {"type": offer.provider}, "team": {"teamId": lab.team}}
    disk = lab.ada.post(f"{API}/disks", json=sent).json()
    remove_member(lab.accounts_hub.hub, OPERATOR, "lab", "ada")
    refused = lab.ada.post(f"{API}/pods", json=wish() | {"disks": [disk["id"]]})
    assert (refused.status_code, "you have left" in refused.json()["detail"]) == (403, True)
    assert lab.pods() == []
    lab.rent(lab.bob, disks=[disk["id"]], team={"teamId": lab.team})
    assert lab.ada.get(f"{API}/disks/{disk['id']}").is_success


def test_a_key_for_a_team_reaches_the_pods_of_that_team_alone(lab: Lab) -> None:
    own = lab.rent()
    shared = lab.rent(team={"teamId": lab.team})
    limited = lab.accounts_hub.client(lab.accounts_hub.key("ada", owner="lab"))
    assert lab.pods(limited) == [shared["id"]]
    assert limited.get(f"{API}/pods/{own['id']}").status_code == 404
    assert limited.post(f"{API}/pods", json=wish()).status_code == 403
    only_self = lab.accounts_hub.client(lab.accounts_hub.key("ada", owner="ada"))
    assert lab.pods(only_self) == [own["id"]]


def test_an_admin_of_the_hub_ends_what_is_not_shown(lab: Lab) -> None:
    pod = lab.rent()
    create_user(lab.accounts_hub.hub, OPERATOR, "chief", admin=True)
    admin = lab.accounts_hub.client(lab.accounts_hub.key("chief", scope="admin"))
    assert lab.pods(admin) == []
    for path in (f"pods/{pod['id']}", f"pods/{pod['id']}/log"):
        assert admin.get(f"{API}/{path}").status_code == 404
    assert admin.get(f"{API}/pods/status?pod_ids={pod['id']}").json() == {"data": []}
    assert admin.delete(f"{API}/pods/{pod['id']}").json() == {"status": "TERMINATED"}


def test_a_key_that_reads_makes_and_ends_nothing(lab: Lab) -> None:
    pod = lab.rent()
    reader = lab.accounts_hub.client(lab.accounts_hub.key("ada", scope="read"))
    assert lab.pods(reader) == [pod["id"]]
    assert reader.delete(f"{API}/pods/{pod['id']}").status_code == 403
    assert reader.post(f"{API}/pods", json=wish()).status_code == 403
    assert lab.pods() == [pod["id"]]


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_pod_of_another_user_looks_missing(lab: Lab, method: str) -> None:
    pod = lab.rent()
    absent = "0" * len(pod["id"])
    theirs, none = (
        lab.eve.request(method, f"{API}/pods/{pod_id}") for pod_id in (pod["id"], absent)
    )
    assert theirs.status_code == none.status_code == 404
    assert theirs.text.replace(pod["id"], "x") == none.text.replace(absent, "x")


def test_an_admin_sees_the_owner_of_a_pod_but_no_access(lab: Lab) -> None:
    pod = lab.rent(team={"teamId": lab.team}, sharedWithTeam=True)
    lab.arrive(pod)
    create_user(lab.accounts_hub.hub, OPERATOR, "olga", admin=True)
    olga = lab.accounts_hub.client(lab.accounts_hub.key("olga", scope="admin"))
    path = f"{API}/pods/{pod['id']}/endable"
    for client in (lab.ada, lab.meg, olga):
        told = client.get(path).raise_for_status().json()
        assert (told["owner"], told["name"], told["status"]) == ("ada", "trainer", "ACTIVE")
        assert not {"sshConnection", "ip", "hostKeys", "sshConfig"} & told.keys()
    assert (lab.bob.get(path).status_code, lab.eve.get(path).status_code) == (403, 404)
    olga.delete(f"{API}/pods/{pod['id']}").raise_for_status()
    assert olga.get(path).json()["terminatedAt"] is not None
