"""Who changes who is in a team: not the last admin by leaving, and no limited key."""

from typing import Any

import pytest

from prime_cli.core.errors import Conflict
from prime_cli.hub.services.invitations import invite
from prime_cli.hub.services.teams import list_teams, remove_member, set_member
from prime_cli.wire.invitations import NewInvitation
from tests.hub.accounts_hub import OPERATOR, AccountsHub
from tests.hub.pushing import data

LAB = "/api/v1/teams/lab/members"


@pytest.fixture
def lab(accounts_hub: AccountsHub) -> AccountsHub:
    """Ada's team, in which bob is too."""
    for user in ("ada", "bob", "eve"):
        accounts_hub.user(user)
    accounts_hub.team("lab", ada="ADMIN", bob="MEMBER")
    return accounts_hub


def members(hub: AccountsHub) -> list[str]:
    (team,) = list_teams(hub.hub)
    return team.members


@pytest.mark.parametrize("scope", ["write", "admin"])
def test_last_admin_does_not_leave(lab: AccountsHub, scope: str) -> None:
    ada = lab.client(lab.key("ada", scope=scope))
    refused = ada.delete(f"{LAB}/ada")
    assert (refused.status_code, members(lab)) == (409, ["ada:admin", "bob"])
    assert "`ada` is the last admin of the team `lab`" in refused.json()["detail"]
    assert "prime teams add lab USER:admin" in refused.json()["hint"]


def test_last_admin_does_not_become_a_member(lab: AccountsHub) -> None:
    ada = lab.client(lab.key("ada", scope="admin"))
    assert ada.put(f"{LAB}/ada", json={"role": "member"}).status_code == 409
    assert members(lab) == ["ada:admin", "bob"]


def test_admin_leaves_after_making_another(lab: AccountsHub) -> None:
    ada = lab.client(lab.key("ada", scope="admin"))
    data(ada.put(f"{LAB}/bob", json={"role": "admin"}))
    data(ada.delete(f"{LAB}/ada"))
    assert members(lab) == ["bob:admin"]


def test_member_leaves_whoever_else_is_there(lab: AccountsHub) -> None:
    data(lab.client(lab.key("bob")).delete(f"{LAB}/bob"))
    assert members(lab) == ["ada:admin"]


def test_admin_of_the_hub_removes_the_last_admin(lab: AccountsHub) -> None:
    remove_member(lab.hub, OPERATOR, "lab", "ada")
    assert members(lab) == ["bob"]


@pytest.mark.parametrize("owner", ["ada", "lab"])
@pytest.mark.parametrize("scope", ["write", "admin"])
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", f"{LAB}/eve", {"role": "member"}),
        ("PUT", f"{LAB}/bob", {"role": "admin"}),
        ("DELETE", f"{LAB}/bob", None),
        ("DELETE", f"{LAB}/ada", None),
        ("POST", "/api/v1/invitations/", {"team": "lab"}),
        ("PATCH", "/api/v1/user/slug", {"slug": "ada-two"}),
        ("DELETE", "/api/v1/user/identities/id_0", None),
    ],
)
def test_limited_key_changes_no_account_and_no_team(
    lab: AccountsHub, owner: str, scope: str, method: str, path: str, body: Any
) -> None:
    set_member(lab.hub, OPERATOR, "lab", "bob", "admin")
    client = lab.client(lab.key("ada", scope=scope, owner=owner))
    answer = client.request(method, path, json=body)
    # To a key that is not valid for it, the team does not exist.
    assert answer.status_code == (404 if owner == "ada" and LAB in path else 403), answer.text
    assert members(lab) == ["ada:admin", "bob:admin"]


def test_limited_key_revokes_no_invitation(lab: AccountsHub) -> None:
    made = invite(lab.hub, OPERATOR, NewInvitation(team="lab")).invitation
    path = f"/api/v1/invitations/{made.id}"
    limited = lab.client(lab.key("ada", scope="admin", owner="lab"))
    assert limited.delete(path).status_code == 403
    assert data(lab.client(lab.key("ada", scope="admin")).delete(path))


@pytest.mark.parametrize("owner", ["eve", "crew"])
def test_limited_key_accepts_no_invitation(lab: AccountsHub, owner: str) -> None:
    lab.team("crew", eve="MEMBER")
    link = invite(lab.hub, OPERATOR, NewInvitation(team="lab")).link
    client = lab.client(lab.key("eve", owner=owner))
    body = {"token": link.partition("#")[2]}
    assert client.post("/api/v1/invitations/accept", json=body).status_code == 403
    assert data(lab.client(lab.key("eve")).post("/api/v1/invitations/accept", json=body))


def test_role_of_the_last_admin_is_not_lost_by_set_member(lab: AccountsHub) -> None:
    ada = lab.caller(lab.key("ada", scope="admin"))
    with pytest.raises(Conflict, match="last admin"):
        set_member(lab.hub, ada, "lab", "ada", "member")
