import pytest

from prime_cli.core.errors import Conflict
from prime_cli.hub.services.audit import list_entries
from prime_cli.hub.services.key_management import list_keys, revoke_key
from prime_cli.hub.services.teams import remove_member, remove_team
from prime_cli.hub.services.users import create_user, remove_user
from tests.hub.accounts_hub import OPERATOR, AccountsHub, actions
from tests.hub.pushing import HUB, Push, data


def test_what_is_published_changed_and_deleted_is_reported(accounts_hub: AccountsHub) -> None:
    ada = accounts_hub.user("ada")
    Push(ada).run()
    hidden = Push(ada, version="0.2.0", visibility="PRIVATE").run()
    Push(ada, version="0.3.0", visibility="PRIVATE").run()
    data(ada.delete(f"{HUB}/ada/word/@{hidden.content_hash}"))
    data(ada.delete(f"{HUB}/ada/word"))
    assert actions(list_entries(accounts_hub.hub, actor="ada")) == [
        ("ada", "environment.create", "ada/word"),
        ("ada", "version.publish", "ada/word@0.1.0"),
        ("ada", "environment.visibility", "ada/word"),
        ("ada", "version.publish", "ada/word@0.2.0"),
        ("ada", "version.publish", "ada/word@0.3.0"),
        ("ada", "version.delete", "ada/word@0.2.0"),
        ("ada", "environment.delete", "ada/word"),
    ]


def test_entry_names_the_key_the_place_and_the_time(accounts_hub: AccountsHub) -> None:
    Push(accounts_hub.user("ada")).run()
    (entry,) = list_entries(accounts_hub.hub, action="version.")
    (key,) = list_keys(accounts_hub.hub, OPERATOR, "ada")
    assert (entry.key_id, entry.address, entry.at) == (key.id, "127.0.0.1", accounts_hub.hub.now())
    assert list_entries(accounts_hub.hub, target="ada/word@") == [entry]


def test_what_the_operator_does_is_reported(accounts_hub: AccountsHub) -> None:
    accounts_hub.user("ada")
    accounts_hub.team("lab", ada="ADMIN")
    remove_member(accounts_hub.hub, OPERATOR, "lab", "ada")
    remove_team(accounts_hub.hub, OPERATOR, "lab")
    (key,) = list_keys(accounts_hub.hub, OPERATOR)
    revoke_key(accounts_hub.hub, OPERATOR, key.id)
    remove_user(accounts_hub.hub, OPERATOR, "ada")
    told = actions(list_entries(accounts_hub.hub))
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


def test_no_secret_is_in_the_log(accounts_hub: AccountsHub) -> None:
    create_user(accounts_hub.hub, OPERATOR, "ada")
    key = accounts_hub.key("ada", scope="admin")
    made = data(accounts_hub.client(key).post("/api/v1/user/keys", json={"name": "ci"}))
    log = repr(list_entries(accounts_hub.hub))
    assert made["id"] in log
    assert key not in log
    assert made["key"] not in log


def test_failures_are_not_announced(accounts_hub: AccountsHub) -> None:
    accounts_hub.user("ada")
    before = list_entries(accounts_hub.hub)
    with pytest.raises(Conflict):
        create_user(accounts_hub.hub, OPERATOR, "ada")
    assert accounts_hub.client().delete(f"{HUB}/ada/word").status_code == 401
    assert list_entries(accounts_hub.hub) == before


def test_newest_entries_come_first_and_no_more_than_asked(accounts_hub: AccountsHub) -> None:
    for slug in ("ada", "bob", "eve"):
        create_user(accounts_hub.hub, OPERATOR, slug)
    assert [entry.target for entry in list_entries(accounts_hub.hub, limit=2)] == ["eve", "bob"]
    assert list_entries(accounts_hub.hub, action="user_") == []
