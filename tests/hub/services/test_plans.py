"""No request reads a whole table: what is fast with ten rows stays fast with a million."""

import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import event

from prime_cli.core.archive.source_analysis import EnvironmentKind
from prime_cli.core.errors import NotFound
from prime_cli.core.refs import EnvRef
from prime_cli.hub.context import Caller, Hub, open_hub
from prime_cli.hub.services.artifacts import drop_abandoned
from prime_cli.hub.services.environment_list import list_environments
from prime_cli.hub.services.environment_pages import list_cards
from prime_cli.hub.services.environments import get_detail, set_star
from prime_cli.hub.services.package_index import list_projects, refresh_index
from prime_cli.hub.settings import HubSettings
from prime_cli.wire.environments import EnvironmentQuery, SortKey, Visibility
from prime_cli.wire.queries import SortOrder
from tests.helpers.database import sqlite_only
from tests.hub.pushing import Push, open_app

ADA = Caller.alone("ada")

pytestmark = sqlite_only


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Hub:
    folder = tmp_path_factory.mktemp("hub")
    client: httpx.Client = open_app(folder, "ada")
    Push(client, name="chess", metadata={"tags": ["game"], "description": "Boards"}).run()
    Push(client, name="mine", visibility=Visibility.PRIVATE).run()
    return open_hub(HubSettings(data=folder, owner="ada"))


class Plans:
    """The plans of all statements that a block runs."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.run: list[tuple[str, Any]] = []

    def __enter__(self) -> "Plans":
        event.listen(self.hub.database.engine, "before_cursor_execute", self._keep)
        return self

    def __exit__(self, *_: object) -> None:
        event.remove(self.hub.database.engine, "before_cursor_execute", self._keep)

    def _keep(self, _: Any, __: Any, statement: str, values: Any, *___: Any) -> None:
        if re.match("SELECT|UPDATE|DELETE|WITH", statement):
            self.run.append((statement, values))

    def steps(self) -> list[str]:
        with self.hub.database.read() as connection:
            return [
                row[3]
                for statement, values in self.run
                for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)
            ]


def assert_looks_up(plans: Plans) -> None:
    """A full-text index is scanned for what matches, and a subquery for what it has found."""
    read_whole = re.compile(r"SCAN (?!search VIRTUAL|anon_|CONSTANT|\(|\d)")
    assert plans.run
    assert [step for step in plans.steps() if read_whole.match(step)] == []


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("order", SortKey)
@pytest.mark.parametrize("owner", [None, "ada"])
def test_list_is_read_in_its_order(
    hub: Hub, order: SortKey, descending: bool, owner: str | None
) -> None:
    direction = SortOrder.DESC if descending else SortOrder.ASC
    query = EnvironmentQuery(sort_by=order, sort_order=direction, owner=owner, limit=1)
    cursor = list_environments(hub, ADA, query).next_cursor
    assert cursor
    with Plans(hub) as plans:
        list_environments(hub, ADA, query)
        list_environments(
            hub,
            ADA,
            EnvironmentQuery(sort_by=order, sort_order=direction, owner=owner, cursor=cursor),
        )
    assert_looks_up(plans)
    steps = plans.steps()
    assert not [step for step in steps if "TEMP B-TREE" in step]
    assert any("USING COVERING INDEX ix_environments_" in step for step in steps)


@pytest.mark.parametrize(
    "query",
    [
        EnvironmentQuery(search="board"),
        EnvironmentQuery(search="chess ga", tags=("game",), sort_by=SortKey.STARS),
        EnvironmentQuery(tags=("game",)),
        EnvironmentQuery(starred_only=True, search="chess"),
        EnvironmentQuery(mine_only=True, visibility=Visibility.PRIVATE),
        EnvironmentQuery(min_stars=1),
        EnvironmentQuery(kind=EnvironmentKind.V0, sort_by=SortKey.DOWNLOADS),
        EnvironmentQuery(search="board", min_stars=1),
    ],
)
def test_filter_looks_up_what_it_needs(hub: Hub, query: EnvironmentQuery) -> None:
    with Plans(hub) as plans:
        list_environments(hub, ADA, query)
    assert_looks_up(plans)


def test_best_scores_of_a_page_are_looked_up(hub: Hub) -> None:
    with Plans(hub) as plans:
        list_cards(hub, ADA, EnvironmentQuery())
    assert_looks_up(plans)
    steps = [step for step in plans.steps() if "ix_evaluated_best" in step]
    # The caller's own are counted; the public ones and those are searched twice: of the latest
    # version, and of any.
    assert len(steps) == 5
    assert all("USING COVERING INDEX" in step for step in steps)
    assert not [step for step in plans.steps() if "TEMP B-TREE" in step]


def test_single_environment_is_looked_up(hub: Hub) -> None:
    with Plans(hub) as plans:
        get_detail(hub, ADA, EnvRef.parse("ada/chess@0.1.0"))
        get_detail(hub, ADA, EnvRef.parse("ada/chess"))
        list_projects(hub, ADA, "ada")
        set_star(hub, ADA, EnvRef.parse("ada/chess"), starred=True)
    assert_looks_up(plans)


def test_near_names_are_looked_up(hub: Hub) -> None:
    for slug in ("ada/chest", "bob/chess", "bob/nothing"):
        with Plans(hub) as plans, pytest.raises(NotFound):
            get_detail(hub, ADA, EnvRef.parse(slug))
        assert_looks_up(plans)


def test_publishing_looks_up_what_it_touches(tmp_path: Path) -> None:
    client = open_app(tmp_path, "ada")
    hub = client._transport.app.state.hub  # type: ignore[attr-defined]
    with Plans(hub) as plans:
        Push(client, name="chess").run()
        Push(client, name="chess", version="0.2.0", code="x").run()
        with hub.database.write() as connection:
            drop_abandoned(hub, connection)
        refresh_index(hub)
        client.delete("/api/v1/environmentshub/ada/chess").raise_for_status()
    assert_looks_up(plans)
