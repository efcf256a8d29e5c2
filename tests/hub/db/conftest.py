from collections.abc import Iterator
from pathlib import Path

import pytest

from prime_cli.hub.context import open_database
from prime_cli.hub.db.engine import Database
from tests.helpers.postgres import fresh_database


@pytest.fixture(params=["sqlite", "postgres"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path | str]:
    """Where a hub's tables are, as `open_database` takes it: a file, then a URL."""
    if request.param == "sqlite":
        yield tmp_path / "hub.db"
        return
    with fresh_database() as url:
        yield url


@pytest.fixture
def database(location: Path | str) -> Database:
    """A hub's tables, of both kinds in turn."""
    return open_database(location)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Database, Database]]:
    """A hub's tables of both kinds at once, for all tests of a module."""
    with fresh_database() as url:
        path = tmp_path_factory.mktemp("both") / "hub.db"
        yield open_database(path), open_database(url)
