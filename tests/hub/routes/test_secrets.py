from pathlib import Path
from typing import Any

import httpx
import pytest

from prime_cli.core.errors import StorageFailed
from prime_cli.hub.context import open_hub
from prime_cli.hub.encryption import open_seal
from tests.hub.pushing import HUB, Push, data, open_app, settings_for

API = "/api/v1"


@pytest.fixture
def environment(client: httpx.Client) -> str:
    """The id of an environment of Ada's."""
    return Push(client).run().environment_id


def make(client: httpx.Client, name: str = "API_KEY", **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = data(
        client.post(f"{API}/secrets/", json={"name": name, "value": "hunter2", **more})
    )
    return made


def test_secret_is_listed_without_its_value(client: httpx.Client) -> None:
    made = make(client, description="For the judge")
    page = client.get(f"{API}/secrets/").json()
    assert page["total_count"] == 1
    assert page["data"] == [made]
    assert made["description"] == "For the judge"
    assert "hunter2" not in client.get(f"{API}/secrets/{made['id']}").text


def test_secret_is_sealed_on_the_disk(client: httpx.Client, folder: Path) -> None:
    make(client)
    hub = open_hub(settings_for(folder))
    with hub.database.read() as connection:
        sealed = connection.exec_driver_sql("SELECT value FROM secrets").scalar_one()
    assert "hunter2" not in sealed
    assert open_seal(hub.settings).unseal(sealed) == "hunter2"
    assert (folder / "secret.key").stat().st_mode & 0o777 == 0o600


def test_a_secret_changes_only_in_the_given_fields(client: httpx.Client) -> None:
    made = make(client, description="Old")
    address = f"{API}/secrets/{made['id']}"
    assert data(client.patch(address, json={"name": "OTHER"}))["description"] == "Old"
    assert data(client.patch(address, json={"value": "new"}))["name"] == "OTHER"


@pytest.mark.parametrize(
    "body",
    [
        {"name": "lower", "value": "x"},
        {"name": "1X", "value": "x"},
        {"name": "A B", "value": "x"},
        {"name": "X", "value": ""},
        {"name": "X"},
        {"name": "X", "value": "v", "description": "d" * 501},
        {"name": "X" * 256, "value": "v"},
    ],
)
def test_secret_that_cannot_be_is_refused(client: httpx.Client, body: dict[str, str]) -> None:
    assert client.post(f"{API}/secrets/", json=body).status_code == 422


def test_name_is_taken_once(client: httpx.Client, environment: str) -> None:
    make(client)
    again = client.post(f"{API}/secrets/", json={"name": "API_KEY", "value": "x"})
    assert again.status_code == 409
    own = f"{HUB}/{environment}/secrets"
    data(client.post(own, json={"name": "API_KEY", "value": "x"}))
    assert client.post(own, json={"name": "API_KEY", "value": "x"}).status_code == 409


def test_environment_has_its_own_and_the_linked_secrets(
    client: httpx.Client, environment: str
) -> None:
    shared = make(client, "SHARED")
    own = data(client.post(f"{HUB}/{environment}/secrets", json={"name": "OWN", "value": "x"}))
    link = f"{HUB}/{environment}/secrets/link/{shared['id']}"
    first, second = data(client.post(link, json={})), data(client.post(link, json={}))
    assert first == second
    assert first["secretName"] == "SHARED"
    listed = data(client.get(f"{HUB}/{environment}/secrets"))
    assert [(row["name"], row["source"]) for row in listed] == [
        ("OWN", "environment"),
        ("SHARED", "global"),
    ]
    data(client.delete(link))
    assert client.delete(link).status_code == 404
    data(client.delete(f"{HUB}/{environment}/secrets/{own['id']}"))
    assert data(client.get(f"{HUB}/{environment}/secrets")) == []
    assert client.get(f"{API}/secrets/").json()["total_count"] == 1


def test_deleted_secret_takes_its_links_away(client: httpx.Client, environment: str) -> None:
    shared = make(client)
    data(client.post(f"{HUB}/{environment}/secrets/link/{shared['id']}", json={}))
    assert client.delete(f"{API}/secrets/{shared['id']}").json() == {"data": {"success": True}}
    assert data(client.get(f"{HUB}/{environment}/secrets")) == []


def test_variable_is_kept_changed_and_deleted(client: httpx.Client, environment: str) -> None:
    address = f"{HUB}/{environment}/variables"
    made = data(client.post(address, json={"name": "LEVEL", "value": "3"}))
    assert data(client.get(address)) == [made]
    changed = data(client.patch(f"{address}/{made['id']}", json={"value": "4"}))
    assert (changed["name"], changed["value"]) == ("LEVEL", "4")
    data(client.delete(f"{address}/{made['id']}"))
    assert data(client.get(address)) == []
    assert client.patch(f"{address}/{made['id']}", json={}).status_code == 404


def test_other_key_is_noticed(client: httpx.Client, folder: Path) -> None:
    make(client)
    (folder / "secret.key").unlink()
    hub = open_hub(settings_for(folder))
    with hub.database.read() as connection:
        sealed = connection.exec_driver_sql("SELECT value FROM secrets").scalar_one()
    with pytest.raises(StorageFailed, match="with a different key"):
        open_seal(hub.settings).unseal(sealed)


def test_an_invalid_key_is_refused(folder: Path) -> None:
    client = open_app(folder, secret_key="short")
    refused = client.post(f"{API}/secrets/", json={"name": "X", "value": "x"})
    assert refused.status_code == 422
    assert "PRIME_HUB_SECRET_KEY" in refused.json()["detail"]


def test_a_list_waits_for_nobody_who_writes(client: httpx.Client, folder: Path) -> None:
    made = make(client)
    with open_hub(settings_for(folder)).database.write():
        page = client.get(f"{API}/secrets/").json()
    assert page["data"] == [made]


def test_a_list_on_a_new_hub_is_empty_and_writes_nothing(
    client: httpx.Client, folder: Path
) -> None:
    assert client.get(f"{API}/secrets/").json()["data"] == []
    with open_hub(settings_for(folder)).database.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM owners").scalar_one() == 0
