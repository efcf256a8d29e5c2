from typing import Any

import httpx
import pytest

from tests.hub.accounts_hub import AccountsHub
from tests.hub.evaluating import EVALUATIONS, change, finished, listed, made, page, show
from tests.hub.pushing import HUB, Push, data

ROUTES: list[tuple[str, str, Any]] = [
    ("GET", "", None),
    ("PUT", "", {"name": "x"}),
    ("DELETE", "", None),
    ("GET", "/samples", None),
    ("POST", "/samples", {"samples": []}),
    ("POST", "/finalize", {}),
]


@pytest.mark.parametrize(("method", "path", "body"), ROUTES)
def test_a_private_evaluation_looks_missing(
    accounts_hub: AccountsHub, method: str, path: str, body: Any
) -> None:
    ada, eve = accounts_hub.user("ada"), accounts_hub.user("eve")
    Push(ada, visibility="PUBLIC").run()
    evaluation = finished(ada, [{"reward": 1}])
    # The first use of a key is noted, which takes statements of its own.
    eve.get(f"{EVALUATIONS}/")
    answers, counts = [], []
    for target in (evaluation, "ev_0123456789abcdef"):
        with accounts_hub.statements() as seen:
            answers.append(eve.request(method, f"{EVALUATIONS}/{target}{path}", json=body))
        counts.append(len(seen))
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].text.replace(evaluation, "") == answers[1].text.replace(
        "ev_0123456789abcdef", ""
    )
    assert counts[0] == counts[1]
    assert show(ada, evaluation)["name"] == "a run"


@pytest.mark.parametrize(("method", "path", "body"), ROUTES)
def test_public_evaluation_is_read_by_all_and_written_by_its_owner(
    accounts_hub: AccountsHub, method: str, path: str, body: Any
) -> None:
    ada, eve = accounts_hub.user("ada"), accounts_hub.user("eve")
    Push(ada, visibility="PUBLIC").run()
    evaluation = made(ada, is_public=True)
    reads = method == "GET"
    for client, refusal in ((eve, 403), (accounts_hub.client(), 401)):
        answer = client.request(method, f"{EVALUATIONS}/{evaluation}{path}", json=body)
        assert answer.status_code == (200 if reads else refusal)


def test_public_evaluation_of_a_private_environment_is_for_those_who_see_both(
    accounts_hub: AccountsHub,
) -> None:
    ada, bob, eve = (accounts_hub.user(slug) for slug in ("ada", "bob", "eve"))
    team = accounts_hub.team("crew", ada="MEMBER", bob="MEMBER")
    environment = data(
        ada.post(f"{HUB}/resolve", json={"name": "word", "visibility": "PRIVATE", "team_id": team})
    )["id"]
    evaluation = made(ada, environments=[{"id": environment}], is_public=True)
    address = f"{EVALUATIONS}/{evaluation}"
    assert [user.get(address).status_code for user in (ada, bob, eve)] == [200, 200, 404]
    assert eve.get(f"{HUB}/crew/word/evaluations").status_code == 404


@pytest.mark.parametrize(("visibility", "status"), [("PUBLIC", 200), ("PRIVATE", 404)])
def test_deleted_environment_hides_its_evaluations_as_it_did(
    accounts_hub: AccountsHub, visibility: str, status: int
) -> None:
    ada, eve = accounts_hub.user("ada"), accounts_hub.user("eve")
    Push(ada, visibility=visibility).run()
    evaluation = made(ada, is_public=True)
    data(ada.delete(f"{HUB}/ada/word"))
    assert eve.get(f"{EVALUATIONS}/{evaluation}").status_code == status
    assert show(ada, evaluation)["environment_names"] == ["ada/word"]


def test_the_list_has_the_callers_and_the_teams_items(accounts_hub: AccountsHub) -> None:
    ada, bob, eve = (accounts_hub.user(slug) for slug in ("ada", "bob", "eve"))
    Push(ada, visibility="PUBLIC").run()
    team = accounts_hub.team("crew", ada="MEMBER", bob="MEMBER")
    made(ada, name="private")
    made(ada, name="public", is_public=True)
    made(ada, name="of the team", team_id=team)
    assert sorted(listed(ada)) == ["of the team", "private", "public"]
    assert listed(bob) == ["of the team"]
    assert listed(eve) == []
    assert listed(ada, f"team_id={team}") == ["of the team"]
    assert eve.get(f"{EVALUATIONS}/?team_id={team}").status_code == 404
    assert accounts_hub.client().get(f"{EVALUATIONS}/").status_code == 401


def test_key_of_one_owner_lists_and_reads_that_owners_alone(accounts_hub: AccountsHub) -> None:
    ada = accounts_hub.user("ada")
    Push(ada, visibility="PUBLIC").run()
    team = accounts_hub.team("crew", ada="MEMBER")
    mine, ours = made(ada, name="mine"), made(ada, name="ours", team_id=team)
    narrow = accounts_hub.client(accounts_hub.key("ada", owner="crew"))
    assert listed(narrow) == ["ours"]
    assert narrow.get(f"{EVALUATIONS}/{mine}").status_code == 404
    assert narrow.get(f"{EVALUATIONS}/{ours}").status_code == 200


def test_list_is_newest_first_and_paged(accounts_hub: AccountsHub) -> None:
    ada = accounts_hub.user("ada")
    Push(ada).run()
    for number in range(5):
        accounts_hub.clock.wait(seconds=1)
        made(ada, name=f"n{number}")
    assert listed(ada) == ["n4", "n3", "n2", "n1", "n0"]
    assert listed(ada, "skip=1&limit=2") == ["n3", "n2"]
    answer = ada.get(f"{EVALUATIONS}/?skip=4&limit=2").json()
    assert (answer["total"], answer["skip"], answer["limit"]) == (5, 4, 2)
    assert listed(ada, "skip=9&limit=2") == []


def test_list_is_filtered_by_environment_and_suite(client: httpx.Client) -> None:
    for name in ("word", "sword"):
        Push(client, name).run()
    made(client, name="w")
    made(client, name="s", environments=[{"id": "ada/sword"}], suite_id="suite")
    environment = show(client, made(client, name="w2"))["environment_ids"][0]
    assert sorted(listed(client, "environment_name=word")) == ["w", "w2"]
    assert listed(client, "environment_name=ada/sword") == ["s"]
    assert listed(client, "environment_name=eve/sword") == []
    assert listed(client, "environment_name=wor_") == []
    assert sorted(listed(client, f"environment_id={environment}")) == ["w", "w2"]
    assert listed(client, "suite_id=suite") == ["s"]


@pytest.mark.parametrize("query", ["skip=-1", "limit=0", "limit=101", "skip=x"])
def test_list_refuses_pages_that_cannot_be(client: httpx.Client, query: str) -> None:
    assert client.get(f"{EVALUATIONS}/?{query}").status_code == 422


def test_evaluation_that_becomes_private_is_gone_for_others(accounts_hub: AccountsHub) -> None:
    ada, eve = accounts_hub.user("ada"), accounts_hub.user("eve")
    Push(ada, visibility="PUBLIC").run()
    evaluation = finished(ada, [{"reward": 1}], is_public=True)
    assert page(eve, evaluation)["total"] == 1
    change(ada, evaluation, is_public=False)
    assert eve.get(f"{EVALUATIONS}/{evaluation}/samples").status_code == 404
