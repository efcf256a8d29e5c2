"""Terminals are there on Linux alone as these tests drive them."""

import pytest

from tests.helpers.team_hub import team_hub
from tests.helpers.tools import require_terminal

__all__ = ["team_hub"]


@pytest.fixture
def needs_terminal() -> None:
    """Skip where there is no pty with a controlling session to be had."""
    require_terminal()
