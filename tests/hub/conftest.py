from pathlib import Path

import httpx
import pytest

from tests.helpers.storage import blob_storage
from tests.hub.accounts_hub import AccountsHub
from tests.hub.pushing import open_app

__all__ = ["blob_storage"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the hub keeps its data."""
    return tmp_path / "hub"


@pytest.fixture
def client(folder: Path) -> httpx.Client:
    """Ada's embedded hub."""
    return open_app(folder)


@pytest.fixture
def accounts_hub(folder: Path) -> AccountsHub:
    """A hub with accounts."""
    return AccountsHub(folder)
