from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import insert

from prime_cli.core.errors import Conflict
from prime_cli.hub.context import Hub, open_hub
from prime_cli.hub.db.tables import owners
from prime_cli.hub.services.keys import find_caller
from prime_cli.hub.serving.server import make_admin
from tests.hub.pushing import settings_for


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    return open_hub(settings_for(tmp_path / "hub", "", accounts=True))


def test_first_start_makes_an_admin_whose_key_may_do_everything(hub: Hub) -> None:
    key = make_admin(hub, "boss")
    assert key
    caller = find_caller(hub, key)
    assert caller
    assert (caller.slug, caller.admin, caller.writes) == ("boss", True, frozenset({"boss"}))


def test_second_start_makes_no_key(hub: Hub) -> None:
    assert make_admin(hub, "boss")
    assert make_admin(hub, "boss") is None
    assert make_admin(hub, "other") is None


def test_name_of_another_user_is_not_made_admin(hub: Hub) -> None:
    with hub.database.write() as connection:
        connection.execute(
            insert(owners).values(id="team_1", slug="lab", type="team", created_at=hub.now())
        )
    with pytest.raises(Conflict, match="`lab` is an existing user or team"):
        make_admin(hub, "lab")


def test_of_several_that_start_at_once_one_gets_a_key(tmp_path: Path) -> None:
    hubs = [open_hub(settings_for(tmp_path / "hub", "", accounts=True)) for _ in range(6)]
    with ThreadPoolExecutor(len(hubs)) as pool:
        keys = list(pool.map(make_admin, hubs, ["boss"] * len(hubs)))
    assert len([key for key in keys if key]) == 1
