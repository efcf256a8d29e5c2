"""What a limited key does not reach, and how it is refused."""

import httpx
import pytest

from tests.hub.accounts_hub import AccountsHub
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
