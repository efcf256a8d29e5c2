"""What a limited key does not reach, and how it is refused."""

import httpx
import pytest

from prime_cli.hub.services.audit import list_entries
from prime_cli.hub.services.teams import remove_member
from tests.hub.accounts_hub import OPERATOR, AccountsHub
from tests.hub.pushing import HUB, Push, data


@pytest.fixture
def ada(accounts_hub: AccountsHub) -> httpx.Client:
    """Ada, who has published `word`."""
    client = accounts_hub.user("ada")
    Push(client).run()
    return client


def test_a_read_key_changes_no_star(accounts_hub: AccountsHub, ada: httpx.Client) -> None:
    reader = accounts_hub.client(accounts_hub.key("ada", scope="read"))
    for method in ("PUT", "DELETE"):
        refused = reader.request(method, f"{HUB}/ada/word/star")
        assert refused.status_code == 403
        assert refused.json()["hint"].startswith("use a key with the scope `write`")
    assert data(ada.get(f"{HUB}/ada/word/status"))["name"] == "word"
    data(ada.put(f"{HUB}/ada/word/star"))
    assert reader.delete(f"{HUB}/ada/word/star").status_code == 403
    (listed,) = ada.get(f"{HUB}/").json()["data"]
    assert listed["stars"] == 1


def test_a_key_of_a_team_names_its_limit_where_it_asks_for_the_users_secrets(
    accounts_hub: AccountsHub, ada: httpx.Client
) -> None:
    accounts_hub.team("lab", ada="ADMIN")
    limited = accounts_hub.client(accounts_hub.key("ada", owner="lab"))
    refused = limited.get("/api/v1/secrets/")
    assert refused.status_code == 403
    assert refused.json()["detail"] == (
        "This key is limited to `lab`; it cannot reach the secrets of `ada`"
    )
    assert limited.put(f"{HUB}/ada/word/star").status_code == 403


def test_only_who_may_change_an_environment_opens_its_secrets_which_is_recorded(
    accounts_hub: AccountsHub, ada: httpx.Client
) -> None:
    env_id = data(ada.get(f"{HUB}/ada/word/@latest"))["id"]
    ada.post(f"{HUB}/{env_id}/secrets", json={"name": "JUDGE_KEY", "value": "planted-value"})
    ada.post(f"{HUB}/{env_id}/variables", json={"name": "SIZE", "value": "3"})
    opened = ada.post(f"{HUB}/{env_id}/secrets/open")
    assert data(opened)["secrets"] == {"JUDGE_KEY": "planted-value"}
    assert data(opened)["variables"] == {"SIZE": "3"}
    assert opened.headers["cache-control"] == "no-store"
    reader = accounts_hub.client(accounts_hub.key("ada", scope="read"))
    for other in (reader, accounts_hub.user("eve"), accounts_hub.client()):
        refused = other.post(f"{HUB}/{env_id}/secrets/open")
        assert refused.status_code in (401, 403)
        assert "planted-value" not in refused.text
    assert ada.get(f"{HUB}/{env_id}/secrets/open").status_code in (404, 405)
    (noted,) = list_entries(accounts_hub.hub, action="secret.open")
    assert (noted.actor, noted.target) == ("ada", "ada/word")
    assert noted.detail == {"names": ["JUDGE_KEY"]}


def test_a_linked_secret_is_opened_for_those_of_its_owner_alone(
    accounts_hub: AccountsHub, ada: httpx.Client
) -> None:
    bob = accounts_hub.user("bob")
    lab = accounts_hub.team("lab", bob="MEMBER")
    secret = {"name": "LAB_KEY", "value": "planted-value", "teamId": lab}
    kept = data(bob.post("/api/v1/secrets/", json=secret))["id"]
    env_id = Push(bob, name="mine").run().environment_id
    bob.post(f"{HUB}/{env_id}/secrets/link/{kept}", json={})
    assert data(bob.post(f"{HUB}/{env_id}/secrets/open"))["secrets"] == {"LAB_KEY": "planted-value"}
    remove_member(accounts_hub.hub, OPERATOR, "lab", "bob")
    left = data(bob.post(f"{HUB}/{env_id}/secrets/open"))
    assert (left["secrets"], left["withheld"]) == ({}, ["LAB_KEY"])
