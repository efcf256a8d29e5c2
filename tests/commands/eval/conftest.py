"""A home for tests of whole evaluations, which share the interpreters in it."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made once by each test process."""
    return tmp_path_factory.mktemp("evaluating")


@pytest.fixture
def one_home(shared_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interpreters, locks and starters are those of the tests before; runs are in other folders."""
    monkeypatch.setenv("PRIME_HOME", str(shared_home))
