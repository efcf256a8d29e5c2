"""Contexts whose keys are in a keyring."""

from collections.abc import Callable
from pathlib import Path

import pytest
from keyring.backend import KeyringBackend

from prime_cli.accounts.contexts import delete_with_key, rename_with_key
from prime_cli.core.config import Config, load_config
from prime_cli.core.config.editing import save_context
from prime_cli.core.credentials import Storage, find_credential, save_credential
from prime_cli.core.errors import StorageFailed
from tests.core.credentials.conftest import use_keyring
from tests.helpers.keyrings import Locked, Working

__all__ = ["use_keyring"]

URL = "https://hub.example.org"


@pytest.fixture
def config(home: Path) -> Config:
    """Settings with the context `team`."""
    config = load_config()
    save_context(config.file, "team", {"base_url": URL})
    return config


def test_a_key_in_a_keyring_goes_along_with_its_context(
    config: Config, use_keyring: Callable[[KeyringBackend], None]
) -> None:
    backend = Working()
    use_keyring(backend)
    save_credential(config.home.value, "team", URL, "k1", Storage.KEYRING)
    rename_with_key(config, "team", "work")
    found = find_credential(load_config(context="work"), {})
    assert (found.key, found.source) == ("k1", "keyring")
    assert list(backend.kept.values()) == ["k1"]
    delete_with_key(config, "work")
    assert backend.kept == {}


def test_nothing_changes_while_the_keyring_is_locked(
    config: Config, use_keyring: Callable[[KeyringBackend], None]
) -> None:
    use_keyring(Working())
    save_credential(config.home.value, "team", URL, "k1", Storage.KEYRING)
    use_keyring(Locked())
    before = config.file.read_bytes()
    with pytest.raises(StorageFailed, match="locked"):
        rename_with_key(config, "team", "work")
    with pytest.raises(StorageFailed, match="locked"):
        delete_with_key(config, "team")
    assert config.file.read_bytes() == before
