from pathlib import Path

import pytest
from sqlalchemy import insert

from prime_cli.core.errors import Conflict
from prime_cli.hub.context import Hub
from prime_cli.hub.db.tables import owners
from prime_cli.hub.opening import open_hub
from prime_cli.hub.services.keys import find_caller
from prime_cli.hub.serving.first_start import make_admin
from prime_cli.hub.settings import HubSettings


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    return open_hub(HubSettings(data=tmp_path / "hub", owner="", accounts=True))


def test_first_start_makes_an_admin_whose_key_may_do_everything(hub: Hub) -> None:
    key = make_admin(hub, "root")
    assert key
    caller = find_caller(hub, key)
    assert caller
    assert (caller.slug, caller.admin, caller.writes) == ("root", True, frozenset({"root"}))


def test_second_start_makes_no_key(hub: Hub) -> None:
    assert make_admin(hub, "root")
    assert make_admin(hub, "root") is None
    assert make_admin(hub, "other") is None


def test_name_of_somebody_else_is_not_made_admin(hub: Hub) -> None:
    with hub.database.write() as connection:
        connection.execute(
            insert(owners).values(id="team_1", slug="lab", type="team", created_at=hub.now())
        )
    with pytest.raises(Conflict, match="`lab` is somebody else"):
        make_admin(hub, "lab")
