from pathlib import Path

import pytest

from tests.hub.services.compute.renting import Yard


@pytest.fixture
def yard(folder: Path) -> Yard:
    return Yard(folder)
