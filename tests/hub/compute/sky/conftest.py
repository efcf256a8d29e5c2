"""A scripted SkyPilot for each test, with a home of its own."""

import sys
from pathlib import Path

import pytest

from tests.helpers.skypilots import FakeSky


@pytest.fixture
def sky(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSky:
    if sys.platform == "win32":
        pytest.skip("SkyPilot does not run on Windows")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return FakeSky(tmp_path)
