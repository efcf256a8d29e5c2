"""Counts and best scores against what is found by looking at every evaluation."""

from typing import Any

import httpx
import pytest
from sqlalchemy import select

from prime_cli.core.refs import EnvRef
from prime_cli.hub.context import Caller
from prime_cli.hub.db.tables import environments, versions
from prime_cli.hub.services.evaluations.leaderboard import read_leaderboard
from prime_cli.hub.services.evaluations.standings import find_best
from prime_cli.hub.services.takedowns import restore, take_down
from prime_cli.wire.accounts import NewTakedown
from prime_cli.wire.evaluations import HistoryQuery
from tests.hub.accounts_hub import OPERATOR, AccountsHub
from tests.hub.evaluating import EVALUATIONS, change, finalize, finished, made, push
from tests.hub.pushing import HUB, Push


@pytest.fixture
def ada(accounts_hub: AccountsHub) -> httpx.Client:
    client = accounts_hub.user("ada")
    for name in ("word", "chess"):
        Push(client, name, visibility="PUBLIC").run()
    return client


def of(*names: str) -> list[dict[str, str]]:
    return [{"id": f"ada/{name}"} for name in names]


def evaluate(client: httpx.Client, *rewards: float, **said: Any) -> str:
    samples = [{"example_id": at, "reward": reward} for at, reward in enumerate(rewards)]
    return finished(client, samples, **{"is_public": True, **said})


def counts(hub: AccountsHub) -> dict[str, int]:
    """What is copied, which is what every caller's leaderboard has."""
    with hub.hub.database.read() as connection:
        rows = connection.execute(select(environments.c.name, environments.c.evaluations))
        return {row.name: row.evaluations for row in rows}


def best(hub: AccountsHub, caller: Caller, name: str = "word") -> float | None:
    """What the card shows, which must be the first mean of the leaderboard."""
    with hub.hub.database.read() as connection:
        ids = select(environments.c.id).where(environments.c.name == name)
        found = find_best(connection, caller, list(connection.execute(ids).scalars()))
    shown = [score.mean_reward for score in found.values()]
    board = read_leaderboard(hub.hub, caller, EnvRef("ada", name), HistoryQuery())
    assert shown[:1] == [row.mean for row in board.rows if row.mean is not None][:1]
    return shown[0] if shown else None


def test_finished_public_evaluation_counts_until_it_is_deleted(
    accounts_hub: AccountsHub, ada: httpx.Client
) -> None:
    evaluation = made(ada, is_public=True)
    push(ada, evaluation, [{"example_id": 0, "reward": 0.5}])
    assert (counts(accounts_hub)["word"], best(accounts_hub, Caller())) == (0, None)
    finalize(ada, evaluation)
    finalize(ada, evaluation)
    assert (counts(accounts_hub)["word"], best(accounts_hub, Caller())) == (1, 0.5)
    push(ada, evaluation, [{"example_id": 1, "reward": 1.0}])
    assert (counts(accounts_hub)["word"], best(accounts_hub, Caller())) == (1, 0.75)
    ada.delete(f"{EVALUATIONS}/{evaluation}").raise_for_status()
    assert (counts(accounts_hub)["word"], best(accounts_hub, Caller())) == (0, None)


def test_private_evaluation_is_the_best_for_its_owner_alone(
    accounts_hub: AccountsHub, ada: httpx.Client
) -> None:
    evaluate(ada, 0.25)
    private = evaluate(ada, 1.0, is_public=False, model_name="hidden")
    mine = Caller("ada", reads=frozenset({"ada"}))
    assert counts(accounts_hub)["word"] == 1
    assert (best(accounts_hub, Caller()), best(accounts_hub, mine)) == (0.25, 1.0)
    change(ada, private, is_public=True)
    assert (counts(accounts_hub)["word"], best(accounts_hub, Caller())) == (2, 1.0)
    change(ada, private, is_public=False)
    assert (counts(accounts_hub)["word"], best(accounts_hub, Caller())) == (1, 0.25)


def test_evaluation_beside_a_private_environment_counts_for_that_one_alone(
    accounts_hub: AccountsHub, ada: httpx.Client
) -> None:
    Push(ada, "secret", visibility="PRIVATE").run()
    evaluate(ada, 1.0, environments=of("word", "secret"))
    assert counts(accounts_hub) == {"word": 0, "chess": 0, "secret": 1}
    assert best(accounts_hub, Caller()) is None
    Push(ada, "secret").change_visibility("PUBLIC")
    assert counts(accounts_hub) == {"word": 1, "chess": 0, "secret": 1}
    assert best(accounts_hub, Caller()) == 1.0


def test_environment_named_twice_is_counted_once(
    accounts_hub: AccountsHub, ada: httpx.Client
) -> None:
    evaluate(ada, 1.0, environments=of("word", "word", "chess"))
    assert counts(accounts_hub) == {"word": 1, "chess": 1}


def test_taken_down_evaluation_is_not_counted_until_it_is_restored(
    accounts_hub: AccountsHub, ada: httpx.Client
) -> None:
    evaluation = evaluate(ada, 1.0)
    take_down(accounts_hub.hub, OPERATOR, NewTakedown(evaluation, "spam"))
    assert (counts(accounts_hub)["word"], best(accounts_hub, Caller())) == (0, None)
    restore(accounts_hub.hub, OPERATOR, evaluation)
    assert (counts(accounts_hub)["word"], best(accounts_hub, Caller())) == (1, 1.0)


def names(hub: AccountsHub, name: str = "word") -> list[str]:
    board = read_leaderboard(hub.hub, Caller(), EnvRef("ada", name), HistoryQuery())
    return [row.name for row in board.rows]


def leader(hub: AccountsHub) -> str | None:
    with hub.hub.database.read() as connection:
        ids = list(connection.execute(select(environments.c.id)).scalars())
        found = find_best(connection, Caller(), ids)
    return next((each.model_name for each in found.values()), None)


def test_few_perfect_examples_do_not_beat_many_good_ones(
    accounts_hub: AccountsHub, ada: httpx.Client
) -> None:
    for name, rewards in {
        "few": [1.0, 1.0, 1.0],
        "one": [1.0],
        "many": [*[1.0] * 95, *[0.0] * 5],
        "builtin/oracle": [1.0] * 200,
        "builtin/replay:1f2e": [1.0] * 3,
    }.items():
        evaluate(ada, *rewards, model_name=name, name=name)
    assert names(accounts_hub)[:3] == ["many", "few", "one"]
    assert set(names(accounts_hub)[3:]) == {"builtin/oracle", "builtin/replay:1f2e"}
    assert leader(accounts_hub) == "many"


def test_an_interval_that_a_run_states_ranks_nothing(
    accounts_hub: AccountsHub, ada: httpx.Client
) -> None:
    reward = {"mean": 1.0, "interval": [0.999, 1.0]}
    evaluate(ada, *[1.0] * 50, model_name="honest", name="honest")
    said = {"prime_run": {"reward": reward}}
    evaluate(ada, 1.0, model_name="proud", name="proud", metadata=said)
    assert names(accounts_hub) == ["honest", "proud"]


def test_baselines_alone_have_no_best(accounts_hub: AccountsHub, ada: httpx.Client) -> None:
    evaluation = evaluate(ada, 1.0, 1.0, model_name="builtin/oracle")
    assert (counts(accounts_hub)["word"], leader(accounts_hub)) == (1, None)
    change(ada, evaluation, model_name="org/model")
    assert leader(accounts_hub) == "org/model"


def test_versions_are_compared_apart_and_the_latest_comes_first(
    accounts_hub: AccountsHub, ada: httpx.Client
) -> None:
    evaluate(ada, 1.0, 1.0, 1.0, model_name="old", name="old")
    Push(ada, "word", "0.2.0", visibility="PUBLIC", code="x = 2\n").run()
    assert (names(accounts_hub), leader(accounts_hub)) == (["old"], "old")
    evaluate(ada, 0.0, 0.0, 1.0, model_name="new", name="new")
    assert (names(accounts_hub), leader(accounts_hub)) == (["new", "old"], "new")
    # A fix of an old line is published later, and is not the latest.
    Push(ada, "word", "0.1.5", visibility="PUBLIC", code="x = 3\n").run()
    fixed = [{"id": "ada/word", "version_id": version_of(accounts_hub, "0.1.5")}]
    evaluate(ada, 1.0, 1.0, model_name="fixed", name="fixed", environments=fixed)
    assert (names(accounts_hub), leader(accounts_hub)) == (["new", "fixed", "old"], "new")


def version_of(hub: AccountsHub, version: str) -> str:
    with hub.hub.database.read() as connection:
        found = select(versions.c.id).where(versions.c.semantic_version == version)
        return str(connection.execute(found).scalar_one())


def test_card_tab_and_history_count_what_the_caller_sees(
    accounts_hub: AccountsHub, ada: httpx.Client
) -> None:
    bob = accounts_hub.user("bob")
    evaluate(ada, 1.0)
    evaluate(ada, 1.0, is_public=False, environments=of("word", "word"))
    evaluate(bob, 1.0, is_public=False)
    for client, seen in ((ada, 2), (bob, 2), (accounts_hub.client(), 1)):
        (card,) = (each for each in client.get(f"{HUB}/").json()["data"] if each["name"] == "word")
        history = client.get(f"{HUB}/ada/word/evaluations").json()["data"]
        tab = client.get("/dashboard/environments/ada/word").text
        assert card["evaluations"] == history["total"] == seen
        assert f'Evaluations <span class="faint">{seen}</span>' in tab


def test_list_by_evaluations_begins_with_the_most(
    accounts_hub: AccountsHub, ada: httpx.Client
) -> None:
    for _ in range(2):
        evaluate(ada, 1.0, environments=of("chess"))
    evaluate(ada, 1.0)
    page = accounts_hub.client().get(f"{HUB}/?sort_by=evaluations&limit=1").json()
    assert [(each["name"], each["evaluations"]) for each in page["data"]] == [("chess", 2)]
    page = accounts_hub.client().get(
        f"{HUB}/?sort_by=evaluations&limit=1&cursor={page['next_cursor']}"
    )
    assert [(each["name"], each["evaluations"]) for each in page.json()["data"]] == [("word", 1)]
