import httpx
import pytest

from prime_cli.hub.services.teams import set_member
from tests.hub.accounts_hub import OPERATOR, AccountsHub
from tests.hub.pushing import HUB, Push, data, names

WHOAMI = "/api/v1/user/whoami"
SLUG = "/api/v1/user/slug"
KEYS = "/api/v1/user/keys"


def test_whoami_answers_what_official_clients_read(accounts_hub: AccountsHub) -> None:
    account = data(accounts_hub.user("ada").get(WHOAMI))
    assert account["id"].startswith("user_")
    assert account["email"] == ""
    assert account["name"] == account["slug"] == "ada"
    both = {"read": True, "write": True}
    assert account["scope"]["environments"] == both
    assert account["scope"]["keys"] == {"read": False, "write": False}
    reader = accounts_hub.client(accounts_hub.key("ada", scope="read"))
    assert data(reader.get(WHOAMI))["scope"]["evaluations"] == {"read": True, "write": False}


def test_whoami_as_a_team_is_of_what_the_key_may_do_there(accounts_hub: AccountsHub) -> None:
    ada = accounts_hub.user("ada")
    team = accounts_hub.team("lab", ada="MEMBER")
    assert data(ada.get(WHOAMI, params={"teamId": team}))["scope"]["environments"]["write"]
    only_ada = accounts_hub.client(accounts_hub.key("ada", owner="ada"))
    assert only_ada.get(WHOAMI, params={"teamId": team}).status_code == 404
    assert data(accounts_hub.client(accounts_hub.key("ada", owner="lab")).get(WHOAMI))["scope"][
        "environments"
    ] == {"read": False, "write": False}


@pytest.mark.parametrize("key", [None, "prime_sk_unknown", "ada"])
def test_whoami_without_a_key_is_401(accounts_hub: AccountsHub, key: str | None) -> None:
    answer = accounts_hub.client(key).get(WHOAMI)
    assert (answer.status_code, answer.json()["code"]) == (401, "not_logged_in")


def test_user_takes_another_name_and_what_is_published_goes_along(
    accounts_hub: AccountsHub,
) -> None:
    push = Push(accounts_hub.user("ada")).run()
    ada = push.client
    assert data(ada.patch(SLUG, json={"slug": "ada-l"}))["slug"] == "ada-l"
    assert data(ada.get(WHOAMI))["slug"] == "ada-l"
    assert ada.get(f"{HUB}/ada/word/@latest").status_code == 404
    detail = data(ada.get(f"{HUB}/ada-l/word/@latest"))
    assert ada.get(detail["wheel_url"]).content == push.wheel
    assert "/ada-l/" in detail["wheel_url"]
    assert ada.get("/ada-l/simple/word/").status_code == 200
    assert names(accounts_hub.client(), "owner=ada-l") == ["word"]


def test_name_that_was_given_up_comes_back_to_its_owner_alone(accounts_hub: AccountsHub) -> None:
    ada, eve = accounts_hub.user("ada"), accounts_hub.user("eve")
    data(ada.patch(SLUG, json={"slug": "ada-l"}))
    for taken in ("ada", "ada-l"):
        answer = eve.patch(SLUG, json={"slug": taken})
        assert answer.status_code == 409
        assert "already taken" in answer.json()["detail"]
    data(ada.patch(SLUG, json={"slug": "ada"}))
    data(ada.patch(SLUG, json={"slug": "ada"}))
    assert data(ada.get(WHOAMI))["slug"] == "ada"
    assert eve.patch(SLUG, json={"slug": "ada-l"}).status_code == 409
    for wrong in ("api", "A", "x" * 31):
        assert eve.patch(SLUG, json={"slug": wrong}).status_code == 422


def test_teams_come_in_pages_with_all_that_clients_read(accounts_hub: AccountsHub) -> None:
    ada = accounts_hub.user("ada")
    ids = {slug: accounts_hub.team(slug, ada="MEMBER") for slug in ("lab-a", "lab-b", "lab-c")}
    accounts_hub.team("other")
    set_member(accounts_hub.hub, OPERATOR, "lab-b", "ada", "ADMIN")
    page = ada.get("/api/v1/user/teams", params={"offset": 1, "limit": 1}).json()
    assert (page["total_count"], page["offset"], page["limit"]) == (3, 1, 1)
    (team,) = page["data"]
    assert team == {
        "teamId": ids["lab-b"],
        "name": "lab-b",
        "slug": "lab-b",
        "role": "ADMIN",
        "createdAt": accounts_hub.hub.now(),
    }
    only = (
        accounts_hub.client(accounts_hub.key("ada", owner="lab-c")).get("/api/v1/user/teams").json()
    )
    assert [team["slug"] for team in only["data"]] == ["lab-c"]


def test_members_are_shown_to_members_alone(accounts_hub: AccountsHub) -> None:
    ada, eve = accounts_hub.user("ada"), accounts_hub.user("eve")
    team = accounts_hub.team("lab", ada="ADMIN")
    page = ada.get(f"/api/v1/teams/{team}/members").json()
    (member,) = page["data"]
    assert set(member) == {"userId", "userName", "userEmail", "role", "joinedAt", "userSlug"}
    assert (member["userName"], member["role"], page["total_count"]) == ("ada", "ADMIN", 1)
    hidden = eve.get(f"/api/v1/teams/{team}/members")
    absent = eve.get(f"/api/v1/teams/{'c' + 'x' * 24}/members")
    assert hidden.status_code == absent.status_code == 404
    assert hidden.text.replace(team, "c" + "x" * 24) == absent.text


def test_client_logs_out_by_revoking_its_own_key(accounts_hub: AccountsHub) -> None:
    ada = accounts_hub.user("ada", scope="read")
    assert "keys" in ada.get("/api/v1/capabilities").json()["features"]
    (mine,) = data(ada.get(KEYS))["keys"]
    assert mine["current"]
    revoked = {"success": True, "revoked": 1, "keys": [mine["id"]]}
    assert data(ada.delete(f"{KEYS}/current")) == revoked
    assert ada.get(WHOAMI).status_code == 401


def test_keys_are_made_listed_and_revoked_over_the_api(accounts_hub: AccountsHub) -> None:
    ada, eve = accounts_hub.user("ada", scope="admin"), accounts_hub.user("eve", scope="admin")
    made = data(ada.post(KEYS, json={"name": "ci", "scope": "read", "expiresIn": 60}))
    ci = accounts_hub.client(made["key"])
    assert data(ci.get(WHOAMI))["slug"] == "ada"
    assert [key["name"] for key in data(ci.get(KEYS))["keys"]] == ["ci"]
    listed = ada.get(KEYS)
    assert len(data(listed)["keys"]) == 2
    assert made["key"] not in listed.text
    assert eve.delete(f"{KEYS}/{made['id']}").status_code == 404
    data(ada.delete(f"{KEYS}/{made['id']}"))
    assert ci.get(WHOAMI).status_code == 401
    for body in ({"scope": "root"}, {"name": "x" * 101}, {"expiresIn": -1}, {"expiresIn": "1"}):
        assert ada.post(KEYS, json=body).status_code == 422


def test_hub_of_one_user_has_no_keys(client: httpx.Client) -> None:
    assert data(client.get(WHOAMI))["id"] == "local_ada"
    assert client.get("/api/v1/capabilities").json()["features"].count("keys") == 0
    assert data(client.get(KEYS))["keys"] == []
    for answer in (
        client.post(KEYS, json={}),
        client.delete(f"{KEYS}/current"),
        client.patch(SLUG, json={"slug": "bob"}),
        client.post("/api/v1/auth_challenge/generate", json={"encryptionPublicKey": "x"}),
    ):
        assert answer.status_code == 422, answer.text
