"""Keyrings for these tests, and the home that keys are kept in."""

from collections.abc import Callable, Iterator
from pathlib import Path

import keyring
import keyring.core
import pytest
from keyring.backend import KeyringBackend


@pytest.fixture
def use_keyring() -> Iterator[Callable[[KeyringBackend], None]]:
    """Puts a backend at the bottom of `keyring`; what was there comes back."""
    before = keyring.core._keyring_backend
    yield keyring.set_keyring
    keyring.core._keyring_backend = before


@pytest.fixture
def folder(home: Path) -> Path:
    """PRIME_HOME."""
    return home / ".prime"
