from typing import Any

import pytest

from prime_cli.core.errors import NotAllowed, NotFound, UsageError
from prime_cli.hub.services.key_management import issue_key, list_keys, revoke_all, revoke_key
from prime_cli.hub.services.keys import find_caller
from prime_cli.hub.services.teams import remove_member
from tests.hub.accounts_hub import OPERATOR, AccountsHub
from tests.hub.pushing import HUB, Push, names

DAY = 24 * 3600
RESOLVE = f"{HUB}/resolve"


def test_key_is_kept_as_a_digest_and_shown_by_its_beginning(accounts_hub: AccountsHub) -> None:
    accounts_hub.user("ada")
    accounts_hub.clock.wait(seconds=1)
    key = accounts_hub.key("ada", name="laptop")
    assert key.startswith("prime_sk_")
    shown = list_keys(accounts_hub.hub, OPERATOR, "ada")[0]
    assert (shown.user, shown.name, shown.scope) == ("ada", "laptop", "write")
    assert key.startswith(shown.prefix)
    assert len(key) - len(shown.prefix) > 30
    for file in accounts_hub.data.rglob("*"):
        if file.is_file():
            assert key.encode() not in file.read_bytes()


@pytest.mark.parametrize("change", ["", "x", "prime_sk_", "A"])
def test_key_that_is_not_quite_right_opens_nothing(accounts_hub: AccountsHub, change: str) -> None:
    accounts_hub.user("ada")
    key = accounts_hub.key("ada")
    wrong = change + key[:-1] if change != "A" else key[:-1] + "~"
    assert find_caller(accounts_hub.hub, wrong) is None
    assert find_caller(accounts_hub.hub, key) is not None


def test_key_expires(accounts_hub: AccountsHub) -> None:
    accounts_hub.user("ada")
    client = accounts_hub.client(accounts_hub.key("ada", seconds=30 * DAY))
    accounts_hub.clock.wait(days=29)
    assert client.get("/api/v1/user/whoami").status_code == 200
    accounts_hub.clock.wait(days=1)
    assert client.get("/api/v1/user/whoami").status_code == 401


@pytest.mark.parametrize("rights", [{"seconds": 0}, {"seconds": -5}, {"seconds": 1e12}])
def test_invalid_time_is_refused(accounts_hub: AccountsHub, rights: dict[str, Any]) -> None:
    accounts_hub.user("ada")
    with pytest.raises(UsageError, match="100 years"):
        accounts_hub.key("ada", **rights)


def test_revoked_key_is_worth_nothing_at_once(accounts_hub: AccountsHub) -> None:
    client = accounts_hub.user("ada")
    Push(client, visibility="PRIVATE").run()
    assert names(client) == ["word"]
    (key,) = list_keys(accounts_hub.hub, OPERATOR)
    revoke_key(accounts_hub.hub, OPERATOR, key.id)
    assert names(client) == []
    assert client.post(RESOLVE, json={"name": "word"}).status_code == 401
    with pytest.raises(NotFound):
        revoke_key(accounts_hub.hub, OPERATOR, key.id)


def test_operator_revokes_by_what_a_key_begins_with_or_all_of_a_user(
    accounts_hub: AccountsHub,
) -> None:
    accounts_hub.user("ada")
    key = accounts_hub.key("ada")
    revoke_key(accounts_hub.hub, OPERATOR, key[:15])
    assert find_caller(accounts_hub.hub, key) is None
    assert revoke_all(accounts_hub.hub, OPERATOR, "ada") == 1
    assert list_keys(accounts_hub.hub, OPERATOR) == []


def test_reading_key_reads_and_does_not_write(accounts_hub: AccountsHub) -> None:
    ada = accounts_hub.user("ada")
    push = Push(ada, visibility="PRIVATE").run()
    reader = accounts_hub.client(accounts_hub.key("ada", scope="read"))
    assert names(reader) == ["word"]
    for answer in (
        reader.post(RESOLVE, json={"name": "word"}),
        reader.delete(f"{HUB}/ada/word"),
        reader.delete(f"{HUB}/{push.environment_id}"),
        reader.patch("/api/v1/user/slug", json={"slug": "bob"}),
        reader.post("/api/v1/user/keys", json={}),
    ):
        assert answer.status_code == 403, answer.text


def test_key_for_one_owner_sees_and_writes_that_owner_alone(accounts_hub: AccountsHub) -> None:
    ada = accounts_hub.user("ada")
    accounts_hub.team("lab", ada="ADMIN")
    Push(ada, "mine", visibility="PRIVATE").run()
    for_lab = accounts_hub.client(accounts_hub.key("ada", owner="lab"))
    made = for_lab.post(RESOLVE, json={"name": "ours", "team_slug": "lab"})
    assert made.status_code == 200
    assert names(for_lab) == []
    assert for_lab.get(f"{HUB}/ada/mine/status").status_code == 404
    assert for_lab.post(RESOLVE, json={"name": "mine"}).status_code == 403
    with pytest.raises(NotFound, match="neither `ada` nor a team"):
        accounts_hub.key("ada", owner="zoe")


def test_member_who_is_removed_loses_the_team_at_once(accounts_hub: AccountsHub) -> None:
    ada, bob = accounts_hub.user("ada"), accounts_hub.user("bob")
    team = accounts_hub.team("lab", ada="ADMIN", bob="MEMBER")
    body = {"name": "ours", "team_id": team, "visibility": "PRIVATE"}
    ada.post(RESOLVE, json=body).raise_for_status()
    for_lab = accounts_hub.client(accounts_hub.key("bob", owner="lab"))
    status = f"{HUB}/lab/ours/status"
    members = f"/api/v1/teams/{team}/members"
    assert [each.get(status).status_code for each in (bob, for_lab)] == [200, 200]
    remove_member(accounts_hub.hub, OPERATOR, "lab", "bob")
    assert [each.get(status).status_code for each in (bob, for_lab)] == [404, 404]
    assert bob.get(members).status_code == 404
    assert bob.post(RESOLVE, json=body).status_code == 404
    assert for_lab.post(RESOLVE, json=body | {"team_slug": "lab"}).status_code == 404


def test_use_is_noted_at_most_once_in_ten_minutes(accounts_hub: AccountsHub) -> None:
    accounts_hub.user("ada")
    key = accounts_hub.key("ada")

    def last_used() -> str | None:
        return next(k.last_used_at for k in list_keys(accounts_hub.hub, OPERATOR) if k.last_used_at)

    find_caller(accounts_hub.hub, key)
    first = last_used()
    accounts_hub.clock.wait(minutes=9)
    with accounts_hub.statements() as seen:
        find_caller(accounts_hub.hub, key)
    assert not any("UPDATE" in statement for statement in seen)
    assert last_used() == first
    accounts_hub.clock.wait(minutes=2)
    find_caller(accounts_hub.hub, key)
    assert last_used() == accounts_hub.hub.now()


def test_user_makes_keys_with_one_of_the_scope_admin(accounts_hub: AccountsHub) -> None:
    accounts_hub.user("ada")
    accounts_hub.user("bob")
    admin = accounts_hub.caller(accounts_hub.key("ada", scope="admin"))
    made = issue_key(accounts_hub.hub, admin, "ada", name="ci", scope="read")
    assert accounts_hub.caller(made.key).writes == frozenset()
    for caller, user in ((admin, "bob"), (accounts_hub.caller(accounts_hub.key("ada")), "ada")):
        with pytest.raises(NotAllowed):
            issue_key(accounts_hub.hub, caller, user)


def test_key_makes_none_that_does_more_or_lasts_longer(accounts_hub: AccountsHub) -> None:
    accounts_hub.user("ada")
    accounts_hub.team("lab", ada="ADMIN")
    brief = accounts_hub.caller(accounts_hub.key("ada", scope="admin", seconds=DAY))
    narrow = accounts_hub.caller(accounts_hub.key("ada", scope="admin", owner="ada"))
    issue_key(accounts_hub.hub, brief, "ada", seconds=DAY)
    issue_key(accounts_hub.hub, narrow, "ada", owner="ada")
    before = len(list_keys(accounts_hub.hub, OPERATOR))
    for caller, rights in (
        (brief, {}),
        (brief, {"seconds": DAY + 1}),
        (narrow, {}),
        (narrow, {"owner": "lab"}),
    ):
        with pytest.raises(NotAllowed):
            issue_key(accounts_hub.hub, caller, "ada", **rights)
    assert len(list_keys(accounts_hub.hub, OPERATOR)) == before


def test_admin_of_the_hub_sees_nothing_private_and_makes_no_keys_of_others(
    accounts_hub: AccountsHub,
) -> None:
    Push(accounts_hub.user("ada"), visibility="PRIVATE").run()
    root = accounts_hub.user("root-user", scope="admin")
    with accounts_hub.hub.database.write() as connection:
        connection.exec_driver_sql("UPDATE owners SET admin = TRUE WHERE slug = 'root-user'")
    assert root.get(f"{HUB}/ada/word/status").status_code == 404
    caller = accounts_hub.caller(accounts_hub.key("root-user", scope="admin"))
    assert caller.admin
    with pytest.raises(NotAllowed):
        issue_key(accounts_hub.hub, caller, "ada")
    assert not accounts_hub.caller(accounts_hub.key("root-user", scope="write")).admin
    assert not accounts_hub.caller(
        accounts_hub.key("root-user", scope="admin", owner="root-user")
    ).admin
