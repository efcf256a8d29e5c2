"""Pods with a real sshd each; whatever a test leaves is removed after it."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from prime_cli.hub.compute.local.served import prepare_ground
from tests.helpers.local_pods import Here
from tests.helpers.ssh_keys import make_key
from tests.helpers.tools import ON_CI, require

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is tested here: as root it makes users and groups of this machine."""
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


@pytest.fixture
def for_others(key: Path) -> Iterator[Here]:
    """Pods as those of a served hub, which take root; in a folder that their users may pass."""
    if os.name != "posix" or os.geteuid() != 0:
        (pytest.fail if ON_CI else pytest.skip)("system users are made by root alone")
    require("useradd", "/usr/sbin/useradd")
    folder = Path(tempfile.mkdtemp(prefix="prime-pods-"))
    folder.chmod(0o711)
    prepare_ground(folder, "127.0.0.1")
    made = Here(folder, key, users=True)
    yield made
    made.close()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["here", "for_others"])
def ground(request: pytest.FixtureRequest) -> Here:
    """Pods of a hub in the box, and those of a served one."""
    found: Here = request.getfixturevalue(request.param)
    return found
