"""Whose sandboxes they are: users and teams of a hub, quotas, deadlines and what is left."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from prime_cli.hub.services.quotas import set_quota
from prime_cli.hub.settings import SandboxSettings
from prime_cli.wire.quotas import NewQuota
from tests.helpers.sandboxes import API, IMAGE, Inside, create, ended_supervisor, sandbox_hub
from tests.helpers.tools import needs_bubblewrap
from tests.hub.accounts_hub import OPERATOR, AccountsHub

pytestmark = needs_bubblewrap
TRUSTED = SandboxSettings(("bubblewrap",), is_own=False, users_trust_each_other=True)


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AccountsHub]:
    """A hub whose users trust each other; each test has users of its own."""
    made = AccountsHub(tmp_path_factory.mktemp("data") / "hub", settings={"sandboxes": TRUSTED})
    made.clock.now = made.clock.now.replace(year=2126)
    with ended_supervisor(made.data):
        yield made


def every_way(client: httpx.Client, sandbox_id: str) -> list[int]:
    """The status of each request about one sandbox."""
    one = f"{API}/sandbox/{sandbox_id}"
    answers = [client.get(one + rest) for rest in ("", "/logs", "/error-context", "/egress-policy")]
    answers += [client.post(f"{one}/auth"), client.delete(one)]
    return [each.status_code for each in answers]


def test_a_sandbox_of_another_user_does_not_exist(hub: AccountsHub) -> None:
    ada, bob = hub.user("ada0"), hub.user("bob0")
    sandbox_id = create(ada)["id"]
    assert every_way(bob, sandbox_id) == [404] * 6
    assert every_way(bob, "none") == [404] * 6
    assert bob.get(f"{API}/sandbox").json()["total"] == 0
    lookup = {"sandbox_ids": [sandbox_id]}
    errors = bob.post(f"{API}/sandbox/status:batchGet", json=lookup).json()["errors"]
    assert errors[0]["code"] == "NOT_FOUND"
    assert bob.request("DELETE", f"{API}/sandbox", json=lookup).json()["succeeded"] == []
    assert ada.get(f"{API}/sandbox/{sandbox_id}").json()["status"] == "RUNNING"
    assert hub.client().get(f"{API}/sandbox/{sandbox_id}").status_code == 401


def test_a_team_shares_its_sandboxes_and_the_one_who_left_does_not(hub: AccountsHub) -> None:
    ada, bob = hub.user("ada1"), hub.user("bob1")
    team = hub.team("lab1", ada1="ADMIN", bob1="MEMBER")
    sandbox_id = create(ada, team_id=team)["id"]
    assert bob.get(f"{API}/sandbox/{sandbox_id}").json()["teamId"] == team
    assert bob.get(f"{API}/sandbox", params={"team_id": team}).json()["total"] == 1
    other = hub.user("eve1").post(f"{API}/sandbox", json={"docker_image": IMAGE, "team_id": team})
    assert other.status_code == 404


def test_all_of_a_user_are_deleted_at_once_and_nobody_elses(hub: AccountsHub) -> None:
    ada, bob = hub.user("ada-all"), hub.user("bob-all")
    mine, theirs = create(ada), create(bob)
    for asked in ({}, {"sandbox_ids": [], "user_id": mine["userId"]}):
        assert ada.request("DELETE", f"{API}/sandbox", json=asked).status_code == 422
    for asked in ({"user_id": theirs["userId"]}, {"user_id": mine["userId"]}):
        done = ada.request("DELETE", f"{API}/sandbox", json=asked).json()["succeeded"]
        assert done == ([mine["id"]] if asked["user_id"] == mine["userId"] else [])
    assert ada.request("DELETE", f"{API}/sandbox", json={"all_users": True}).json()["failed"] == []
    assert bob.get(f"{API}/sandbox/{theirs['id']}").json()["status"] == "RUNNING"


def test_a_reading_key_makes_and_enters_none(hub: AccountsHub) -> None:
    ada = hub.user("ada2")
    reader = hub.client(hub.key("ada2", scope="read"))
    sandbox_id = create(ada)["id"]
    assert reader.get(f"{API}/sandbox/{sandbox_id}").status_code == 200
    assert reader.post(f"{API}/sandbox/{sandbox_id}/auth").status_code == 403
    assert reader.post(f"{API}/sandbox", json={"docker_image": IMAGE}).status_code == 403


def test_one_more_than_the_quota_is_to_come_back_later(hub: AccountsHub) -> None:
    ada = hub.user("ada3")
    set_quota(hub.hub, OPERATOR, NewQuota(owner="ada3", sandboxes=1))
    sandbox_id = create(ada)["id"]
    refused = ada.post(f"{API}/sandbox", json={"docker_image": IMAGE})
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "10")
    assert "`ada3` has 1 sandbox, and this hub allows 1" in refused.json()["detail"]
    ada.delete(f"{API}/sandbox/{sandbox_id}")
    create(ada)


def test_one_that_ended_by_itself_does_not_count(hub: AccountsHub) -> None:
    ada = hub.user("ada-ended")
    set_quota(hub.hub, OPERATOR, NewQuota(owner="ada-ended", sandboxes=1))
    assert Inside(ada, create(ada)["id"]).run("kill -9 -1")["exit_code"] == 137
    create(ada)


def test_memory_that_is_taken_is_not_given_twice(tmp_path: Path) -> None:
    share = 1.5e9 / psutil.virtual_memory().total
    with sandbox_hub(tmp_path, memory_share=share) as hub:
        create(hub, memory_gb=1)
        refused, never = [
            hub.post(f"{API}/sandbox", json={"docker_image": IMAGE, "memory_gb": size})
            for size in (1, 2)
        ]
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "5")
    assert "1.0 GB of 1.5 GB are taken by 1 sandbox" in refused.json()["detail"]
    assert (never.status_code, never.json()["errors"][0]["param"]) == (422, "memory_gb")


def test_bubblewrap_is_refused_where_users_do_not_trust_each_other(tmp_path: Path) -> None:
    settings = SandboxSettings(("bubblewrap",), is_own=False)
    hub = AccountsHub(tmp_path / "hub", settings={"sandboxes": settings})
    refused = hub.user("ada").post(f"{API}/sandbox", json={"docker_image": IMAGE})
    assert refused.status_code == 422
    assert "--users-trust-each-other" in refused.json()["hint"]


def test_a_hub_without_sandboxes_says_who_can_change_that(accounts_hub: AccountsHub) -> None:
    refused = accounts_hub.user("ada").post(f"{API}/sandbox", json={"docker_image": IMAGE})
    assert refused.status_code == 422
    assert "prime hub serve --sandboxes" in refused.json()["hint"]


def test_a_token_is_good_for_an_hour(hub: AccountsHub) -> None:
    ada = hub.user("ada4")
    inside = Inside(ada, create(ada)["id"])
    assert inside.run("true")["exit_code"] == 0
    hub.clock.wait(minutes=61)
    assert inside.post("exec", json={"command": "true"}).status_code == 401


def test_what_outlived_its_time_is_swept(hub: AccountsHub) -> None:
    ada = hub.user("ada5")
    sandbox_id = create(ada, timeout_minutes=1)["id"]
    hub.clock.wait(minutes=2)
    found = ada.post(f"{API}/sandbox/sweep", json={"dry_run": True}).json()
    assert found["ended"] == [sandbox_id]
    ada.post(f"{API}/sandbox/sweep", json={})
    shown = ada.get(f"{API}/sandbox/{sandbox_id}").json()
    assert (shown["status"], shown["errorType"]) == ("TIMEOUT", "TIMEOUT")


def test_a_sandbox_whose_supervisor_was_killed_is_final(hub: AccountsHub) -> None:
    ada = hub.user("ada6")
    inside = Inside(ada, sandbox_id := create(ada)["id"])
    with ended_supervisor(hub.data) as supervisor:
        supervisor.stop()
        for left in supervisor.paths.folder.glob("*.json"):
            left.unlink()
        hub.clock.wait(seconds=1)
    shown = ada.get(f"{API}/sandbox/{sandbox_id}").json()
    assert (shown["status"], shown["errorMessage"]) == ("TERMINATED", "its supervisor was ended")
    assert inside.post("exec", json={"command": "true"}).status_code == 409


def test_secrets_and_variables_are_in_no_row_and_no_answer(hub: AccountsHub) -> None:
    ada = hub.user("ada7")
    made = create(ada, secrets={"TOKEN": "planted-key"}, environment_vars={"PLAIN": "planted-too"})
    assert (
        Inside(ada, made["id"]).run("echo $TOKEN $PLAIN")["stdout"] == "planted-key planted-too\n"
    )
    assert "planted" not in ada.get(f"{API}/sandbox/{made['id']}").text
    ada.delete(f"{API}/sandbox/{made['id']}")
    for file in hub.data.rglob("*"):
        if file.is_file():
            assert b"planted" not in file.read_bytes(), file
