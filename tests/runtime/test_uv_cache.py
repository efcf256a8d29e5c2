"""uv's cache stays where uv has it, unless that cannot be written."""

import sys
from pathlib import Path

import pytest

from prime_cli.core.paths import prime_home
from prime_cli.runtime.uv_cache import spare_cache

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")


def test_a_home_that_can_be_written_keeps_the_cache(home: Path) -> None:
    assert spare_cache({}) is None
    assert not (home / ".cache").exists()


def test_what_the_user_says_of_the_cache_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/proc/1/nowhere")
    assert spare_cache({"UV_CACHE_DIR": "/proc/1/elsewhere"}) is None
    assert spare_cache({"UV_NO_CACHE": "1"}) is None


def test_a_home_that_cannot_be_written_leaves_it_to_prime(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Of /proc even root can make nothing.
    monkeypatch.setenv("HOME", "/proc/1/nowhere")
    assert spare_cache({}) == prime_home() / "uv"
    assert spare_cache({"XDG_CACHE_HOME": str(tmp_path)}) is None
