from typing import Any

import httpx
import pytest

from prime_cli.hub.services.audit import list_entries
from tests.helpers.ssh_keys import line
from tests.hub.accounts_hub import AccountsHub, actions

API = "/api/v1"


def add(client: httpx.Client, number: int, name: str = "laptop") -> dict[str, Any]:
    sent = {"name": name, "publicKey": line(number, "ada@laptop")}
    answer = client.post(f"{API}/ssh_keys/", json=sent)
    assert answer.status_code == 200, answer.text
    made: dict[str, Any] = answer.json()
    return made


def listed(client: httpx.Client) -> dict[str, bool]:
    page = client.get(f"{API}/ssh_keys/").json()
    return {key["name"]: key["isPrimary"] for key in page["data"]}


def test_a_key_is_kept_as_it_was_sent(client: httpx.Client) -> None:
    made = add(client, 1)
    page = client.get(f"{API}/ssh_keys/").json()
    assert page == {"data": [made], "total_count": 1, "offset": 0, "limit": 100}
    assert made["publicKey"] == line(1, "ada@laptop")
    assert made["isPrimary"]
    assert made["isUserKey"]


def test_a_key_without_a_name_is_called_as_its_comment_says(client: httpx.Client) -> None:
    assert add(client, 1, name=" ")["name"] == "ada@laptop"


def test_the_first_key_is_primary_until_another_is(client: httpx.Client) -> None:
    add(client, 1, "one")
    second = add(client, 2, "two")
    assert listed(client) == {"one": True, "two": False}
    answer = client.patch(f"{API}/ssh_keys/{second['id']}", json={"isPrimary": True})
    assert answer.json()["updated_fields"] == {"isPrimary": True}
    assert listed(client) == {"two": True, "one": False}


def test_no_key_can_be_made_not_primary(client: httpx.Client) -> None:
    made = add(client, 1, "one")
    answer = client.patch(f"{API}/ssh_keys/{made['id']}", json={"isPrimary": False})
    assert answer.status_code == 422
    answer = client.patch(f"{API}/ssh_keys/{made['id']}", json={"isPrimary": None})
    assert answer.json()["updated_fields"] == {}
    assert listed(client) == {"one": True}


def test_where_the_primary_key_goes_the_newest_takes_its_place(accounts_hub: AccountsHub) -> None:
    client = accounts_hub.user("ada")
    first = add(client, 1, "one")
    for number, name in ((2, "two"), (3, "three")):
        accounts_hub.clock.wait(seconds=1)
        add(client, number, name)
    assert client.delete(f"{API}/ssh_keys/{first['id']}").status_code == 200
    assert listed(client) == {"three": True, "two": False}


def test_where_another_goes_the_primary_key_stays(client: httpx.Client) -> None:
    add(client, 1, "one")
    second = add(client, 2, "two")
    client.delete(f"{API}/ssh_keys/{second['id']}").raise_for_status()
    assert listed(client) == {"one": True}


def test_the_same_key_twice_is_a_conflict(client: httpx.Client) -> None:
    add(client, 1)
    answer = client.post(f"{API}/ssh_keys", json={"name": "again", "publicKey": line(1, "other")})
    assert answer.status_code == 409
    assert "already, as `laptop`" in answer.json()["detail"]


def test_a_user_has_at_most_a_hundred_keys(client: httpx.Client) -> None:
    for number in range(100):
        add(client, number, str(number))
    answer = client.post(f"{API}/ssh_keys", json={"name": "more", "publicKey": line(100)})
    assert answer.status_code == 409
    page = client.get(f"{API}/ssh_keys", params={"offset": 90, "limit": 20}).json()
    assert (len(page["data"]), page["total_count"]) == (10, 100)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nsecret", "This is a private key"),
        (f'command="x" {line(1)}', "The public key has options"),
        (f"{line(1)}\n{line(2)}", "more than one line"),
        ("", "no public key"),
    ],
)
def test_an_invalid_public_key_is_refused(client: httpx.Client, text: str, told: str) -> None:
    answer = client.post(f"{API}/ssh_keys", json={"name": "bad", "publicKey": text})
    assert answer.status_code == 422
    assert told in answer.json()["detail"]
    assert "secret" not in answer.text


def test_keys_of_others_are_as_none(accounts_hub: AccountsHub) -> None:
    ada, bob = accounts_hub.user("ada"), accounts_hub.user("bob")
    made = add(ada, 1)
    address = f"{API}/ssh_keys/{made['id']}"
    assert listed(bob) == {}
    assert bob.delete(address).status_code == 404
    assert bob.patch(address, json={"isPrimary": True}).status_code == 404
    assert add(bob, 1)["isPrimary"]
    assert listed(ada) == {"laptop": True}


def test_adding_a_key_needs_permission(accounts_hub: AccountsHub) -> None:
    accounts_hub.user("ada")
    accounts_hub.team("lab", ada="ADMIN")
    sent = {"name": "laptop", "publicKey": line(1)}
    for key in (accounts_hub.key("ada", scope="read"), accounts_hub.key("ada", owner="lab")):
        assert accounts_hub.client(key).post(f"{API}/ssh_keys", json=sent).status_code == 403
    assert accounts_hub.client().post(f"{API}/ssh_keys", json=sent).status_code == 401
    assert accounts_hub.client().get(f"{API}/ssh_keys").status_code == 401
    reader = accounts_hub.client(accounts_hub.key("ada", scope="read"))
    assert reader.get(f"{API}/ssh_keys").status_code == 200


def test_what_is_done_with_keys_is_in_the_audit_log(accounts_hub: AccountsHub) -> None:
    ada = accounts_hub.user("ada")
    made, second = add(ada, 1), add(ada, 2)
    ada.patch(f"{API}/ssh_keys/{second['id']}", json={"isPrimary": True})
    ada.delete(f"{API}/ssh_keys/{made['id']}")
    done = actions(list_entries(accounts_hub.hub, action="ssh_key"))
    assert [action for _, action, _ in done] == [
        "ssh_key.add", "ssh_key.add", "ssh_key.primary", "ssh_key.remove",
    ]  # fmt: skip
    assert all(target.startswith("ada SHA256:") for _, _, target in done)
