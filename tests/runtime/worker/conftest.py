from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.scripted_model import ScriptedModel


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """A model that repeats what it is told."""
    with ScriptedModel() as server:
        yield server


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Where a worker's log goes."""
    return tmp_path / "worker.log"
