"""Lists of environments and versions, on the real hub in process."""

from pathlib import Path

import pytest

from prime_cli.api.client import HubClient
from prime_cli.core.errors import NotFound
from prime_cli.core.refs import EnvRef
from prime_cli.envs.listing import Query, list_environments, list_versions
from tests.helpers.hubs import open_hub, publish


def _names(hub: HubClient, query: Query) -> list[str]:
    return [each.environment for each in list_environments(hub, query).environments]


def test_an_empty_hub_lists_nothing(hub: HubClient) -> None:
    found = list_environments(hub, Query())
    assert (found.environments, found.total, found.has_more) == ((), 0, False)


def test_a_row_says_what_the_official_client_shows(hub: HubClient, tmp_path: Path) -> None:
    publish(hub, tmp_path, "wordle", tags=("game", "words"))
    (row,) = list_environments(hub, Query()).environments
    assert (row.environment, row.version, row.visibility, row.stars) == (
        "ada/wordle",
        "0.1.0",
        "PUBLIC",
        0,
    )
    assert row.tags == ("game", "words")
    assert row.description == "A tiny environment"
    assert row.updated_at


def test_pages_follow_each_other(hub: HubClient, tmp_path: Path) -> None:
    for name in ("aa-env", "bb-env", "cc-env"):
        publish(hub, tmp_path, name)
    first = Query(per_page=2, sort_by="name", order="asc")
    second = Query(page=2, per_page=2, sort_by="name", order="asc")
    assert _names(hub, first) == ["ada/aa-env", "ada/bb-env"]
    assert _names(hub, second) == ["ada/cc-env"]
    assert list_environments(hub, first).has_more
    assert not list_environments(hub, second).has_more
    assert list_environments(hub, first).total == 3


def test_filters_keep_what_they_name(hub: HubClient, data: Path, tmp_path: Path) -> None:
    publish(hub, tmp_path / "a", "wordle", tags=("game",))
    publish(hub, tmp_path / "b", "secret", visibility="PRIVATE")
    publish(open_hub(data, "bob"), tmp_path / "c", "sudoku", tags=("game", "grid"))
    assert _names(hub, Query(owner="bob")) == ["bob/sudoku"]
    assert _names(hub, Query(visibility="private")) == ["ada/secret"]
    assert _names(hub, Query(search="wor")) == ["ada/wordle"]
    assert _names(hub, Query(tags=("game", "grid"))) == ["bob/sudoku"]
    assert sorted(_names(hub, Query(mine=True))) == ["ada/secret", "ada/wordle"]
    assert _names(hub, Query(starred=True)) == []


def test_versions_come_newest_first(hub: HubClient, tmp_path: Path) -> None:
    for version in ("0.1.0", "0.2.0", "0.10.0"):
        publish(hub, tmp_path, version=version)
    rows = list_versions(hub, EnvRef("ada", "tiny-env"))
    assert [row.version for row in rows] == ["0.10.0", "0.2.0", "0.1.0"]
    assert len({row.sha256 for row in rows}) == 3
    assert rows[0].artifacts == 2


def test_versions_of_nothing_are_not_found(hub: HubClient) -> None:
    with pytest.raises(NotFound):
        list_versions(hub, EnvRef("ada", "nothing"))
