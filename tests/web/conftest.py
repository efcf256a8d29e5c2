from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from prime_cli.web.application import create_application
from prime_cli.web.library import Library


@pytest.fixture
def pages(tmp_path: Path) -> Iterator[TestClient]:
    """The pages of the runs below `tmp_path`, without the guard, and with an empty hub."""
    app = create_application(Library(tmp_path), Starlette())
    with TestClient(app, base_url="http://127.0.0.1:8800") as client:
        yield client
