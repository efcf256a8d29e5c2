from typing import Any

import pytest

from tests.hub.accounts_hub import AccountsHub
from tests.hub.evaluating import finished, made
from tests.hub.pushing import HUB, Push, data


def history(client: Any, query: str = "") -> Any:
    return data(client.get(f"{HUB}/ada/word/evaluations?{query}"))


def test_history_is_by_version_and_model(accounts_hub: AccountsHub) -> None:
    ada = accounts_hub.user("ada")
    Push(ada).run()
    finished(ada, [{"reward": 0.0}], name="a", model_name="m1")
    accounts_hub.clock.wait(hours=1)
    finished(ada, [{"reward": 1.0}] * 3, name="b", model_name="m1")
    Push(ada, version="0.2.0", code="# 2").run()
    accounts_hub.clock.wait(hours=1)
    finished(ada, [{"reward": 0.5}], name="c", model_name="m2")
    made(ada, name="not finished")
    found = history(ada)
    assert [(p["name"], p["mean_reward"]) for p in found["evaluations"]] == [
        ("c", 0.5),
        ("b", 1.0),
        ("a", 0.0),
    ]
    new, old = found["groups"]
    assert (new["version"], new["model_name"], new["mean_reward"]) == ("0.2.0", "m2", 0.5)
    assert (old["version"], old["evaluations"], old["samples"]) == ("0.1.0", 2, 4)
    assert old["mean_reward"] == pytest.approx(0.75)
    assert old["first_at"] < old["last_at"] < new["first_at"]
    assert found["total"] == 3


def test_history_is_filtered_and_paged(accounts_hub: AccountsHub) -> None:
    ada = accounts_hub.user("ada")
    Push(ada).run()
    for number in range(4):
        accounts_hub.clock.wait(seconds=1)
        finished(ada, [{"reward": 1}], name=f"n{number}", model_name=f"m{number % 2}")
    assert [p["name"] for p in history(ada, "limit=2&skip=1")["evaluations"]] == ["n2", "n1"]
    found = history(ada, "model_name=m1&version=0.1.0")
    assert ([p["name"] for p in found["evaluations"]], found["total"]) == (["n3", "n1"], 2)
    assert len(found["groups"]) == 1
    assert history(ada, "version=9")["groups"] == []


def test_history_holds_only_what_the_caller_may_see(accounts_hub: AccountsHub) -> None:
    ada, bob = accounts_hub.user("ada"), accounts_hub.user("bob")
    Push(ada, visibility="PUBLIC").run()
    finished(ada, [{"reward": 0}], name="hers, private")
    finished(ada, [{"reward": 1}], name="hers, public", is_public=True)
    finished(bob, [{"reward": 1}], name="his, private")
    seen = {p["name"] for p in history(bob)["evaluations"]}
    assert seen == {"hers, public", "his, private"}
    assert history(accounts_hub.client())["groups"][0]["mean_reward"] == 1
    assert history(accounts_hub.client())["total"] == 1


def test_evaluation_without_rewards_does_not_change_the_mean(accounts_hub: AccountsHub) -> None:
    ada = accounts_hub.user("ada")
    Push(ada).run()
    finished(ada, [{"reward": 0.5}])
    finished(ada, [{"error": "x"}] * 5)
    group = history(ada)["groups"][0]
    assert (group["mean_reward"], group["samples"], group["evaluations"]) == (0.5, 6, 2)


def test_evaluation_of_two_environments_is_in_both_histories(accounts_hub: AccountsHub) -> None:
    ada = accounts_hub.user("ada")
    Push(ada).run()
    Push(ada, "other").run()
    finished(ada, [{"reward": 1}], environments=[{"id": "ada/word"}, {"id": "ada/other"}])
    assert history(ada)["total"] == 1
    assert data(ada.get(f"{HUB}/ada/other/evaluations"))["total"] == 1
