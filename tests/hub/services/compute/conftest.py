from pathlib import Path

import pytest

from tests.hub.services.compute.renting import PodHub


@pytest.fixture
def pod_hub(folder: Path) -> PodHub:
    return PodHub(folder)
