from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.kubernetes import ScriptedCluster, scripted_cluster
from tests.hub.sandboxes.kubernetes.clusters import configure


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedCluster]:
    """A cluster without agent-sandbox, which this process uses."""
    with scripted_cluster(tmp_path / "tmp") as found:
        configure(monkeypatch, found, tmp_path)
        yield found
