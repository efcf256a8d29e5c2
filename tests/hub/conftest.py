from pathlib import Path

import httpx
import pytest

from tests.hub.pushing import open_app


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the hub keeps its data."""
    return tmp_path / "hub"


@pytest.fixture
def client(folder: Path) -> httpx.Client:
    """Ada's embedded hub."""
    return open_app(folder)
