"""Terminals are there on Linux alone as these tests drive them."""

import shutil
import sys

import pytest


@pytest.fixture
def needs_terminal() -> None:
    """Skip where there is no pty with a controlling session to be had."""
    if not sys.platform.startswith("linux") or shutil.which("setsid") is None:
        pytest.skip("needs a pty and setsid, as Linux has them")
