"""What is taken down by an admin of the hub, and who is suspended."""

import httpx
import pytest

from prime_cli.core.errors import NotAllowed, NotFound, TakenDown, UsageError
from prime_cli.hub.context import Caller
from prime_cli.hub.services.audit import list_entries
from prime_cli.hub.services.takedowns import list_takedowns, restore, take_down
from prime_cli.wire.accounts import NewTakedown
from tests.hub.accounts_hub import OPERATOR, AccountsHub, actions
from tests.hub.pushing import HUB, Push, data, names

REASON = "It mines coins"
WORD = f"{HUB}/ada/word"


@pytest.fixture
def ada(accounts_hub: AccountsHub) -> httpx.Client:
    """Ada, who has published `word` in two versions."""
    client = accounts_hub.user("ada")
    Push(client).run()
    Push(client, version="0.2.0", code="more = 1").run()
    return client


def down(hub: AccountsHub, target: str, caller: Caller = OPERATOR) -> None:
    take_down(hub.hub, caller, NewTakedown(target, REASON))


def paths(client: httpx.Client) -> list[str]:
    """Whatever of `word` can be fetched."""
    found = data(client.get(f"{WORD}/@0.1.0"))
    return [
        f"{WORD}/@latest",
        f"{WORD}/@0.1.0",
        f"{WORD}/versions",
        f"{WORD}/status",
        found["package_url"],
        found["wheel_download_url"],
    ]


def test_an_environment_that_is_taken_down_is_refused_with_the_reason_to_all(
    accounts_hub: AccountsHub, ada: httpx.Client
) -> None:
    eve = accounts_hub.user("eve")
    wanted = paths(ada)
    assert [eve.get(path).status_code for path in wanted] == [200] * 6
    down(accounts_hub, "ada/word")
    for client in (ada, eve, accounts_hub.client()):
        for path in wanted:
            refused = client.get(path)
            assert refused.status_code == 451, path
            assert REASON in refused.json()["detail"]
        assert client.get("/ada/simple/word/").status_code == 404
        assert client.get(f"{wanted[-1]}.metadata").status_code == 404
    assert names(eve) == []
    restore(accounts_hub.hub, OPERATOR, "ada/word")
    assert [accounts_hub.client().get(path).status_code for path in wanted] == [200] * 6
    assert names(eve) == ["word"]
    assert eve.get("/ada/simple/word/").status_code == 200


def test_its_owner_neither_changes_nor_deletes_nor_forks_it(
    accounts_hub: AccountsHub, ada: httpx.Client
) -> None:
    env_id = data(ada.get(f"{WORD}/@latest"))["id"]
    down(accounts_hub, "ada/word")
    again = Push(ada, version="0.3.0", visibility="PUBLIC", environment_id=env_id)
    refused = [
        again.resolve(),
        again.declare_wheel(),
        ada.delete(f"{HUB}/{env_id}"),
        ada.post(f"{WORD}/fork", json={}),
        ada.get(f"{HUB}/{env_id}/secrets"),
    ]
    for answer in refused:
        assert (answer.status_code, REASON in answer.json()["detail"]) == (451, True)


def test_a_private_environment_stays_one_and_unknown_to_others(
    accounts_hub: AccountsHub, ada: httpx.Client
) -> None:
    eve = accounts_hub.user("eve")
    Push(ada, name="mine", visibility="PRIVATE").run()
    down(accounts_hub, "ada/mine")
    assert ada.get(f"{HUB}/ada/mine/@latest").status_code == 451
    assert eve.get(f"{HUB}/ada/mine/@latest").status_code == 404
    restore(accounts_hub.hub, OPERATOR, "ada/mine")
    assert data(ada.get(f"{HUB}/ada/mine/@latest"))["visibility"] == "PRIVATE"
    assert eve.get(f"{HUB}/ada/mine/@latest").status_code == 404


def test_a_version_that_is_taken_down_is_no_longer_latest_listed_or_indexed(
    accounts_hub: AccountsHub, ada: httpx.Client
) -> None:
    eve = accounts_hub.user("eve")
    newest = data(eve.get(f"{WORD}/@latest"))
    down(accounts_hub, "ada/word@0.2.0")
    assert data(eve.get(f"{WORD}/@latest"))["semantic_version"] == "0.1.0"
    assert [row["version"] for row in data(eve.get(f"{WORD}/versions"))["versions"]] == ["0.1.0"]
    assert "0.2.0" not in eve.get("/ada/simple/word/").text
    for client in (ada, eve):
        for path in (f"{WORD}/@0.2.0", newest["wheel_download_url"], newest["package_url"]):
            assert client.get(path).status_code == 451
    (first, _) = data(ada.get(f"{WORD}/versions"))["versions"]
    assert first["yanked"] == f"taken down: {REASON}"
    again = Push(ada, version="0.2.0", code="other = 1")
    again.begin()
    assert again.declare_wheel().status_code == 451
    deleted = ada.delete(f"{WORD}/@{newest['content_hash']}")
    assert deleted.status_code == 451
    restore(accounts_hub.hub, OPERATOR, "ada/word@0.2.0")
    assert data(eve.get(f"{WORD}/@latest"))["semantic_version"] == "0.2.0"


def test_an_environment_with_a_version_that_is_taken_down_is_not_deleted(
    accounts_hub: AccountsHub, ada: httpx.Client
) -> None:
    env_id = data(ada.get(f"{WORD}/@latest"))["id"]
    down(accounts_hub, "ada/word@0.2.0")
    for path in (WORD, f"{HUB}/{env_id}"):
        refused = ada.delete(path)
        assert refused.status_code == 451
        assert "`ada/word@0.2.0` was taken down" in refused.json()["detail"]
        assert REASON in refused.json()["detail"]
    assert accounts_hub.user("eve").delete(WORD).status_code == 403
    restore(accounts_hub.hub, OPERATOR, "ada/word@0.2.0")
    assert ada.delete(WORD).status_code == 200
    assert ada.get(f"{WORD}/@latest").status_code == 404


def test_an_evaluation_that_is_taken_down_is_not_published_again(
    accounts_hub: AccountsHub, ada: httpx.Client
) -> None:
    eve = accounts_hub.user("eve")
    body = {"name": "run", "environments": [{"id": "ada/word"}], "is_public": True}
    made = ada.post("/api/v1/evaluations/", json=body).json()["evaluation_id"]
    path = f"/api/v1/evaluations/{made}"
    assert eve.get(path).status_code == 200
    down(accounts_hub, made)
    refused = eve.get(path)
    assert (refused.status_code, REASON in refused.json()["detail"]) == (451, True)
    assert ada.get(path).status_code == 200
    assert ada.put(path, json={"is_public": True}).status_code == 451
    restore(accounts_hub.hub, OPERATOR, made)
    assert eve.get(path).status_code == 200
    private = ada.post("/api/v1/evaluations/", json={**body, "is_public": False})
    with pytest.raises(UsageError, match="not public"):
        down(accounts_hub, private.json()["evaluation_id"])


def test_a_suspended_user_is_told_why_and_does_nothing_until_restored(
    accounts_hub: AccountsHub, ada: httpx.Client
) -> None:
    Push(ada, name="mine", visibility="PRIVATE").run()
    push = Push(ada, version="0.3.0", code="x = 1")
    push.begin()
    ticket = data(push.declare_wheel())
    down(accounts_hub, "ada")
    for answer in (ada.get("/api/v1/user/whoami"), push.resolve(), push.declare_wheel()):
        assert (answer.status_code, REASON in answer.json()["detail"]) == (403, True)
    assert ada.put(ticket["upload_url"], content=push.wheel).status_code == 404
    assert ada.get(f"{HUB}/ada/mine/@latest").status_code == 403
    assert ada.get(f"{WORD}/@latest").status_code == 200
    restore(accounts_hub.hub, OPERATOR, "ada")
    assert ada.get("/api/v1/user/whoami").status_code == 200


def test_only_an_admin_takes_down_and_not_himself(
    accounts_hub: AccountsHub, ada: httpx.Client
) -> None:
    caller = accounts_hub.caller(accounts_hub.key("ada", scope="admin"))
    for refused in (
        lambda: down(accounts_hub, "ada/word", caller),
        lambda: restore(accounts_hub.hub, caller, "ada/word"),
        lambda: list_takedowns(accounts_hub.hub, caller),
    ):
        with pytest.raises(NotAllowed):
            refused()
    chief = Caller("ada", admin=True)
    with pytest.raises(UsageError, match="yourself"):
        down(accounts_hub, "ada", chief)
    for target in ("ada/none", "ada/word@9.9", "nobody"):
        with pytest.raises(NotFound):
            down(accounts_hub, target)
    for reason in ("", "x" * 1001, "\x1b[31m"):
        with pytest.raises(UsageError):
            take_down(accounts_hub.hub, OPERATOR, NewTakedown("ada/word", reason))
    with pytest.raises(NotFound, match="is not taken down"):
        restore(accounts_hub.hub, OPERATOR, "ada/word")
    assert ada.get(f"{WORD}/@latest").status_code == 200


def test_takedowns_are_listed_and_recorded(accounts_hub: AccountsHub, ada: httpx.Client) -> None:
    for target in ("ada", "ada/word@0.1.0", "ada/word"):
        down(accounts_hub, target)
    found = list_takedowns(accounts_hub.hub, OPERATOR).takedowns
    assert [(each.kind, each.target, each.reason) for each in found] == [
        ("environment", "ada/word", REASON),
        ("version", "ada/word@0.1.0", REASON),
        ("user", "ada", REASON),
    ]
    restore(accounts_hub.hub, OPERATOR, "ada")
    log = [each for each in list_entries(accounts_hub.hub, actor="cli") if "reason" in each.detail]
    assert actions(log) == [
        ("cli", "user.takedown", "ada"),
        ("cli", "version.takedown", "ada/word@0.1.0"),
        ("cli", "environment.takedown", "ada/word"),
    ]
    (undone,) = list_entries(accounts_hub.hub, action="user.restore")
    assert undone.detail == {"was": REASON}


def test_the_error_travels_as_its_own_class() -> None:
    from prime_cli.wire.problems import status_of, to_error

    assert status_of(TakenDown("gone")) == 451
    assert type(to_error(451, "gone", None, None)) is TakenDown
