"""Pods with a real sshd each; whatever a test leaves is removed after it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.local_pods import Here
from tests.helpers.ssh_keys import make_key
from tests.helpers.tools import require

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is tested here: each pod is an sshd on this machine."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.machine)


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require("sshd", "/usr/sbin/sshd")
    require("ssh-keygen")
    require("ssh")
    return make_key(tmp_path_factory.mktemp("key"))


@pytest.fixture
def here(tmp_path: Path, key: Path) -> Iterator[Here]:
    """Pods as those of a hub in the box."""
    made = Here(tmp_path / "pods", key)
    yield made
    made.close()
