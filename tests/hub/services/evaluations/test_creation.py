from typing import Any

import httpx
import pytest

from tests.hub.accounts_hub import AccountsHub
from tests.hub.evaluating import EVALUATIONS, create, listed, made, show
from tests.hub.pushing import Push


def test_new_evaluation_is_pending_private_and_its_makers(client: httpx.Client) -> None:
    Push(client).run()
    found = show(client, made(client, model_name="m", metadata={"a": None, "b": [1.5]}))
    assert found["status"] == "PENDING"
    assert found["is_public"] is False
    assert found["owner"] == "ada"
    assert found["environment_names"] == ["ada/word"]
    assert found["metadata"] == {"a": None, "b": [1.5]}
    assert (found["metrics"], found["tags"], found["total_samples"]) == ({}, [], 0)


def test_newest_version_is_noted_unless_another_is_named(client: httpx.Client) -> None:
    first = Push(client).run()
    version = client.get("/api/v1/environmentshub/ada/word/@0.1.0").json()["data"]["version_id"]
    Push(client, version="0.2.0", code="# 2").run()
    named = [{"id": first.environment_id, "version_id": version}]
    assert show(client, made(client))["environments"][0]["semantic_version"] == "0.2.0"
    found = show(client, made(client, environments=named))
    assert found["environments"][0]["semantic_version"] == "0.1.0"
    assert found["version_id"] == version


def test_version_of_another_environment_is_not_found(client: httpx.Client) -> None:
    Push(client).run()
    answer = create(client, environments=[{"id": "ada/word", "version_id": "ver_1"}])
    assert answer.status_code == 404


def test_environment_without_a_version_can_be_evaluated(client: httpx.Client) -> None:
    Push(client).begin()
    found = show(client, made(client))
    assert found["environments"][0]["version_id"] is None


@pytest.mark.parametrize(
    ("said", "kind"), [({"run_id": "r1"}, "training"), ({"suite_id": "s1"}, "suite")]
)
def test_run_or_suite_needs_no_environment(
    client: httpx.Client, said: dict[str, str], kind: str
) -> None:
    found = show(client, made(client, environments=None, **said))
    assert (found["eval_type"], found["environment_names"]) == (kind, [])


def test_evaluation_of_nothing_is_refused(client: httpx.Client) -> None:
    nothings: list[list[dict[str, str]] | None] = [None, [], [{}]]
    for environments in nothings:
        assert create(client, environments=environments).status_code == 422


def test_hub_that_cannot_run_evaluations_says_so(client: httpx.Client) -> None:
    Push(client).run()
    answer = create(client, is_hosted=True)
    assert (answer.status_code, "does not run them" in answer.text) == (422, True)


def test_unknown_fields_are_passed_over(client: httpx.Client) -> None:
    Push(client).run()
    made(client, show_on_leaderboard=False, inference_model=None)


def test_request_that_is_sent_again_with_its_key_makes_nothing_new(client: httpx.Client) -> None:
    Push(client).run()
    first, again = create(client, key="run-1").json(), create(client, key="run-1").json()
    assert first == again
    assert create(client, key="run-2").json()["evaluation_id"] != first["evaluation_id"]
    assert len(listed(client)) == 2
    assert create(client, key="x" * 201).status_code == 422


def test_keys_of_requests_are_apart_for_each_owner(accounts_hub: AccountsHub) -> None:
    ada, bob = accounts_hub.user("ada"), accounts_hub.user("bob")
    Push(ada, visibility="PUBLIC").run()
    ids = {create(user, key="same").json()["evaluation_id"] for user in (ada, bob)}
    assert len(ids) == 2


@pytest.mark.parametrize(
    "said",
    [
        {"name": ""},
        {"name": "n" * 501},
        {"tags": ["t"] * 101},
        {"tags": [1]},
        {"description": "d" * 100_001},
        {"metadata": [1]},
        {"name": "nul \x00"},
    ],
)
def test_what_cannot_be_kept_is_refused(client: httpx.Client, said: dict[str, Any]) -> None:
    Push(client).run()
    assert create(client, **said).status_code == 422
    assert listed(client) == []


def test_metadata_is_bounded_in_size_and_depth(client: httpx.Client) -> None:
    Push(client).run()
    assert create(client, metadata={"a": "x" * 1024 * 1024}).status_code == 413
    deep: object = 1
    for _ in range(70):
        deep = [deep]
    assert create(client, metadata={"a": deep}).status_code == 422


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_an_invalid_json_number_is_refused(client: httpx.Client, number: str) -> None:
    Push(client).run()
    body = f'{{"name": "n", "environments": [{{"id": "ada/word"}}], "metrics": {{"r": {number}}}}}'
    assert client.post(EVALUATIONS, content=body).status_code == 422


def test_a_private_environment_of_others_looks_missing(
    accounts_hub: AccountsHub,
) -> None:
    ada, eve = accounts_hub.user("ada"), accounts_hub.user("eve")
    Push(ada, visibility="PRIVATE").run()
    hidden = create(eve)
    missing = create(eve, environments=[{"id": "ada/ward"}])
    assert hidden.status_code == missing.status_code == 404
    assert hidden.json()["detail"].replace("word", "ward") == missing.json()["detail"]
    made(ada)


def test_an_evaluation_of_another_users_environment_belongs_to_its_creator(
    accounts_hub: AccountsHub,
) -> None:
    Push(accounts_hub.user("ada"), visibility="PUBLIC").run()
    bob = accounts_hub.user("bob")
    assert show(bob, made(bob))["owner"] == "bob"


def test_team_gets_evaluations_from_its_members_alone(accounts_hub: AccountsHub) -> None:
    ada, bob = accounts_hub.user("ada"), accounts_hub.user("bob")
    Push(ada, visibility="PUBLIC").run()
    team = accounts_hub.team("crew", ada="MEMBER")
    found = show(ada, made(ada, team_id=team))
    assert (found["owner"], found["team_id"], found["user_id"]) == ("crew", team, None)
    refused, unknown = create(bob, team_id=team), create(bob, team_id="c" + "0" * 24)
    assert (refused.status_code, unknown.status_code) == (404, 404)


def test_key_decides_whether_one_may_make_an_evaluation(accounts_hub: AccountsHub) -> None:
    Push(accounts_hub.user("ada"), visibility="PUBLIC").run()
    reader = accounts_hub.client(accounts_hub.key("ada", scope="read"))
    assert create(reader).status_code == 403
    assert create(accounts_hub.client()).status_code == 401
