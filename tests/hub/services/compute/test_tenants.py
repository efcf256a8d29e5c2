"""Users and teams who rent are not removed, and what they once rented goes with them."""

from typing import Any

import pytest

from prime_cli.core.errors import Conflict
from prime_cli.hub.services.teams import remove_team
from prime_cli.hub.services.users import remove_user
from tests.hub.house import OPERATOR
from tests.hub.services.compute.renting import API, Yard


def end(yard: Yard, pod: dict[str, Any]) -> None:
    yard.ada.delete(f"{API}/pods/{pod['id']}").raise_for_status()


def test_a_user_who_has_pods_is_not_removed(yard: Yard) -> None:
    pod = yard.rent()
    with pytest.raises(Conflict, match="`ada` has 1 pod, as `trainer`") as refused:
        remove_user(yard.house.hub, OPERATOR, "ada")
    assert f"`prime pods terminate {pod['id']}`, with a key of `ada` or of an admin" in str(
        refused.value.hint
    )
    end(yard, pod)
    remove_user(yard.house.hub, OPERATOR, "ada")
    with yard.house.hub.database.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM pods").scalar() == 0


def test_a_user_who_has_disks_is_not_removed(yard: Yard) -> None:
    body = {"disk": {"size": 100, "name": "data"}, "provider": {"type": "paper"}}
    disk = yard.ada.post(f"{API}/disks", json=body).raise_for_status().json()
    with pytest.raises(Conflict, match="`ada` has 1 disk, as `data`"):
        remove_user(yard.house.hub, OPERATOR, "ada")
    yard.ada.delete(f"{API}/disks/{disk['id']}").raise_for_status()
    remove_user(yard.house.hub, OPERATOR, "ada")


def test_a_team_that_has_pods_is_not_removed_and_its_history_stays_with_who_made_it(
    yard: Yard,
) -> None:
    pod = yard.rent(team={"teamId": yard.house.team("lab", ada="MEMBER")})
    with pytest.raises(Conflict, match="`lab` has 1 pod"):
        remove_team(yard.house.hub, OPERATOR, "lab")
    end(yard, pod)
    remove_team(yard.house.hub, OPERATOR, "lab")
    [past] = yard.history()
    assert (past["id"], past["teamId"]) == (pod["id"], None)
