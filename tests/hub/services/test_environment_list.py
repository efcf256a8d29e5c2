from pathlib import Path

import httpx
import pytest

from prime_cli.core.refs import EnvRef
from prime_cli.hub.context import Caller, open_hub
from prime_cli.hub.services import search
from prime_cli.hub.services.environments import set_star
from prime_cli.hub.settings import HubSettings
from tests.helpers.database import database_of
from tests.hub.pushing import HUB, Push, names, open_app


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hub's data with four environments of two owners, and one without a version."""
    folder = tmp_path_factory.mktemp("hub")
    ada, bob = open_app(folder, "ada"), open_app(folder, "bob")
    Push(ada, name="chess", metadata={"tags": ["Game", "multi-turn"]}).run()
    Push(ada, name="add-up", metadata={"description": "Sums of 100% numbers"}).run()
    Push(bob, name="go", metadata={"tags": ["game"], "description": "Stones"}).run()
    Push(bob, name="secret", visibility="PRIVATE").run()
    ada.post(f"{HUB}/resolve", json={"name": "empty"})
    return folder


@pytest.fixture
def catalogue(filled: Path) -> httpx.Client:
    """Ada's client of it; tests only read."""
    return open_app(filled, "ada")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["go", "add-up", "chess"]),
        ("sort_by=name&sort_order=asc", ["add-up", "chess", "go"]),
        ("sort_by=created_at&sort_order=asc", ["chess", "add-up", "go"]),
        ("sort_by=updated_at&sort_order=desc", ["go", "add-up", "chess"]),
        ("owner=ada", ["add-up", "chess"]),
        ("mine_only=True", ["add-up", "chess"]),
        ("mine_only=false", ["go", "add-up", "chess"]),
        ("visibility=public&include_teams=true", ["go", "add-up", "chess"]),
        ("visibility=PRIVATE", []),
        ("tags=game", ["go", "chess"]),
        ("tags=game&tags=MULTI-TURN", ["chess"]),
        ("search=STONE", ["go"]),
        ("search=bob", ["go"]),
        ("search=100%25", ["add-up"]),
        ("search=ada%20game", ["chess"]),
        ("search=_", []),
        ("starred_only=true", []),
        ("limit=1&offset=1", ["add-up"]),
        ("offset=10", []),
    ],
)
def test_list_filters_and_orders(catalogue: httpx.Client, query: str, expected: list[str]) -> None:
    assert names(catalogue, query) == expected


def test_total_counts_what_other_pages_hold(catalogue: httpx.Client) -> None:
    answer = catalogue.get(f"{HUB}/?limit=1&tags=game").json()
    assert (len(answer["data"]), answer["total_count"]) == (1, 2)


def test_row_has_what_official_clients_print(catalogue: httpx.Client) -> None:
    [row] = catalogue.get(f"{HUB}/?search=chess").json()["data"]
    assert row["owner"] == {"name": "ada", "type": "user"}
    assert row["latest_version"] == "0.1.0"
    assert row["tags"] == ["Game", "multi-turn"]
    assert row["stars"] == 0
    assert row["updated_at"].endswith("Z")
    assert row["created_at"] <= row["updated_at"]


def test_private_environment_is_listed_to_its_owner(filled: Path) -> None:
    assert names(open_app(filled, "bob"), "visibility=private") == ["secret"]


def test_starred_environments_are_found_and_counted(folder: Path) -> None:
    ada, bob = open_app(folder, "ada"), open_app(folder, "bob")
    Push(ada, name="chess").run()
    Push(bob, name="go").run()
    hub = open_hub(HubSettings(data=folder, owner="ada", database=database_of(folder)))
    set_star(hub, Caller.alone("ada"), EnvRef.parse("bob/go"), starred=True)
    assert names(ada, "starred_only=true") == ["go"]
    assert names(ada, "sort_by=stars&sort_order=asc") == ["chess", "go"]
    assert names(bob, "starred_only=true") == []
    assert names(ada, "min_stars=1") == ["go"]
    assert names(ada, "min_stars=2") == []
    assert "min_stars" in ada.get("/api/v1/capabilities").json()["features"]


@pytest.mark.parametrize(
    "query", ["sort_by=colour", "limit=many", "limit=0", "limit=1001", "visibility=secret"]
)
def test_query_that_makes_no_sense_is_refused(client: httpx.Client, query: str) -> None:
    assert client.get(f"{HUB}/?{query}").status_code == 422


def test_private_hits_do_not_take_the_places_of_others(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MOST_HITS", 2)
    ada, bob = open_app(folder, "ada"), open_app(folder, "bob")
    for name in ("first-word", "second-word", "third-word"):
        Push(ada, name=name).run()
    for name in ("my-word", "our-word", "their-word"):
        Push(bob, name=name, visibility="PRIVATE").run()
    for passed_over in (0, 1000):
        monkeypatch.setattr(search, "_MOST_PASSED_OVER", passed_over)
        found = ada.get(f"{HUB}/?search=word").json()
        assert [item["name"] for item in found["data"]] == ["third-word", "second-word"]
        assert found["total_count"] == 2


@pytest.mark.parametrize(
    "cursor", ["x", "AAAA", "WyJuYW1lIl0", "é", "W" * 900, "%00", "WyJuYW1lIix0cnVlLDEsIjEiXQ"]
)
def test_cursor_that_no_list_has_given_is_refused(client: httpx.Client, cursor: str) -> None:
    answer = client.get(f"{HUB}/?sort_by=name&cursor={cursor}")
    assert answer.status_code == 422
    assert "next_cursor" in answer.json()["hint"]


def test_cursor_of_another_order_is_refused(catalogue: httpx.Client) -> None:
    cursor = catalogue.get(f"{HUB}/?limit=1").json()["next_cursor"]
    assert catalogue.get(f"{HUB}/?cursor={cursor}").is_success
    assert catalogue.get(f"{HUB}/?cursor={cursor}&sort_by=name").status_code == 422
    assert catalogue.get(f"{HUB}/?cursor={cursor}&sort_order=asc").status_code == 422
    assert catalogue.get(f"{HUB}/?cursor={cursor}&offset=1").status_code == 422


def test_offset_too_deep_says_how_to_continue(client: httpx.Client) -> None:
    answer = client.get(f"{HUB}/?offset=100001")
    assert answer.status_code == 422
    assert "cursor" in answer.json()["hint"]


def test_search_for_too_many_words_is_refused(client: httpx.Client) -> None:
    words = "+".join(f"word{number}" for number in range(17))
    assert client.get(f"{HUB}/?search={words}").status_code == 422


def test_environment_that_is_made_private_leaves_the_counts_of_others(folder: Path) -> None:
    ada, bob = open_app(folder, "ada"), open_app(folder, "bob")
    push = Push(ada, name="chess").run()
    for visibility, seen in (("PRIVATE", 0), ("PUBLIC", 1)):
        push.change_visibility(visibility)
        for query in ("", "search=chess", "owner=ada"):
            assert bob.get(f"{HUB}/?{query}").json()["total_count"] == seen
            assert ada.get(f"{HUB}/?{query}").json()["total_count"] == 1
    ada.delete(f"{HUB}/ada/chess").raise_for_status()
    assert ada.get(f"{HUB}/?search=chess").json()["total_count"] == 0
    assert ada.get(f"{HUB}/").json()["total_count"] == 0
