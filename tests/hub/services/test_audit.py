import pytest

from prime_cli.core.errors import Conflict
from prime_cli.hub.services.audit import list_entries
from prime_cli.hub.services.teams import remove_member, remove_team
from prime_cli.hub.services.users import create_user, list_keys, remove_user, revoke_key
from tests.hub.house import OPERATOR, House, actions
from tests.hub.pushing import HUB, Push, data


def test_what_is_published_changed_and_deleted_is_told(house: House) -> None:
    ada = house.user("ada")
    push = Push(ada).run()
    data(ada.post(f"{HUB}/resolve", json={"name": "word", "visibility": "PRIVATE"}))
    data(ada.post(f"{HUB}/resolve", json={"name": "word", "visibility": "PRIVATE"}))
    data(ada.delete(f"{HUB}/ada/word/@{push.content_hash}"))
    data(ada.delete(f"{HUB}/ada/word"))
    assert actions(list_entries(house.hub, actor="ada")) == [
        ("ada", "environment.create", "ada/word"),
        ("ada", "version.publish", "ada/word@0.1.0"),
        ("ada", "environment.visibility", "ada/word"),
        ("ada", "version.delete", "ada/word@0.1.0"),
        ("ada", "environment.delete", "ada/word"),
    ]


def test_entry_names_the_key_the_place_and_the_time(house: House) -> None:
    Push(house.user("ada")).run()
    (entry,) = list_entries(house.hub, action="version.")
    (key,) = list_keys(house.hub, OPERATOR, "ada")
    assert (entry.key_id, entry.address, entry.at) == (key.id, "127.0.0.1", house.hub.now())
    assert list_entries(house.hub, target="ada/word@") == [entry]


def test_what_the_operator_does_is_told(house: House) -> None:
    house.user("ada")
    house.team("lab", ada="ADMIN")
    remove_member(house.hub, OPERATOR, "lab", "ada")
    remove_team(house.hub, OPERATOR, "lab")
    (key,) = list_keys(house.hub, OPERATOR)
    revoke_key(house.hub, OPERATOR, key.id)
    remove_user(house.hub, OPERATOR, "ada")
    told = actions(list_entries(house.hub))
    assert [action for _, action, _ in told] == [
        "user.create",
        "key.create",
        "team.create",
        "team.member",
        "team.leave",
        "team.remove",
        "key.revoke",
        "user.remove",
    ]
    assert {actor for actor, _, _ in told} == {"cli"}


def test_no_secret_is_in_the_log(house: House) -> None:
    create_user(house.hub, OPERATOR, "ada")
    key = house.key("ada", scope="admin")
    made = data(house.client(key).post("/api/v1/user/keys", json={"name": "ci"}))
    log = repr(list_entries(house.hub))
    assert made["id"] in log
    assert key not in log
    assert made["key"] not in log


def test_what_fails_is_not_told(house: House) -> None:
    house.user("ada")
    before = list_entries(house.hub)
    with pytest.raises(Conflict):
        create_user(house.hub, OPERATOR, "ada")
    assert house.client().delete(f"{HUB}/ada/word").status_code == 401
    assert list_entries(house.hub) == before


def test_newest_entries_come_first_and_no_more_than_asked(house: House) -> None:
    for slug in ("ada", "bob", "eve"):
        create_user(house.hub, OPERATOR, slug)
    assert [entry.target for entry in list_entries(house.hub, limit=2)] == ["eve", "bob"]
    assert list_entries(house.hub, action="user_") == []
