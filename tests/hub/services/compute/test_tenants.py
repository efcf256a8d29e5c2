"""Users and teams who rent are not removed, and what they once rented goes with them."""

from typing import Any

import pytest

from prime_cli.core.errors import Conflict
from prime_cli.hub.services.teams import remove_team
from prime_cli.hub.services.users import remove_user
from tests.hub.accounts_hub import OPERATOR
from tests.hub.services.compute.renting import API, PodHub


def end(pod_hub: PodHub, pod: dict[str, Any]) -> None:
    pod_hub.ada.delete(f"{API}/pods/{pod['id']}").raise_for_status()


def test_a_user_who_has_pods_is_not_removed(pod_hub: PodHub) -> None:
    pod = pod_hub.rent()
    with pytest.raises(Conflict, match="`ada` has 1 pod, as `trainer`") as refused:
        remove_user(pod_hub.accounts_hub.hub, OPERATOR, "ada")
    assert f"`prime pods terminate {pod['id']}`, with a key of `ada` or of an admin" in str(
        refused.value.hint
    )
    end(pod_hub, pod)
    remove_user(pod_hub.accounts_hub.hub, OPERATOR, "ada")
    with pod_hub.accounts_hub.hub.database.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM pods").scalar() == 0


def test_a_user_who_has_disks_is_not_removed(pod_hub: PodHub) -> None:
    body = {"disk": {"size": 100, "name": "data"}, "provider": {"type": "paper"}}
    disk = pod_hub.ada.post(f"{API}/disks", json=body).raise_for_status().json()
    with pytest.raises(Conflict, match="`ada` has 1 disk, as `data`"):
        remove_user(pod_hub.accounts_hub.hub, OPERATOR, "ada")
    pod_hub.ada.delete(f"{API}/disks/{disk['id']}").raise_for_status()
    remove_user(pod_hub.accounts_hub.hub, OPERATOR, "ada")


def test_a_team_that_has_pods_is_not_removed_and_its_history_stays_with_who_made_it(
    pod_hub: PodHub,
) -> None:
    pod = pod_hub.rent(team={"teamId": pod_hub.accounts_hub.team("lab", ada="MEMBER")})
    with pytest.raises(Conflict, match="`lab` has 1 pod"):
        remove_team(pod_hub.accounts_hub.hub, OPERATOR, "lab")
    end(pod_hub, pod)
    remove_team(pod_hub.accounts_hub.hub, OPERATOR, "lab")
    [past] = pod_hub.history()
    assert (past["id"], past["teamId"]) == (pod["id"], None)
