"""A key is kept in a keyring that is real and answers, else in a file, and found again."""

import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from keyring.backend import KeyringBackend
from keyring.core import load_keyring

from prime_cli.core.config import load_config
from prime_cli.core.config.edit import save_context
from prime_cli.core.credentials import (
    KeyStorage,
    find_credential,
    keyrings,
    remove_credential,
    save_credential,
)
from prime_cli.core.errors import StorageFailed
from tests.helpers.keyrings import Failing, Forgetful, Hanging, Locked, Plaintext, Working

HUB = "https://hub.example.org"
KEY = "prime_sk_planted"

UseKeyring = Callable[[KeyringBackend], None]


@pytest.fixture(autouse=True)
def team(folder: Path) -> None:
    save_context(folder / "config.toml", "team", {"base_url": HUB})


def test_a_real_keyring_keeps_the_key_and_no_file_has_it(
    folder: Path, use_keyring: UseKeyring
) -> None:
    backend = Working()
    use_keyring(backend)
    kept = save_credential(folder, "team", HUB, KEY)
    assert (kept.storage, kept.reason) == (KeyStorage.KEYRING, None)
    assert list(backend.kept.values()) == [KEY]
    assert KEY not in (folder / "credentials.toml").read_text(encoding="utf-8")
    credential = find_credential(load_config(context="team"))
    assert (credential.key, credential.source, credential.trouble) == (KEY, "keyring", None)


@pytest.mark.parametrize(
    ("backend", "reason"),
    [
        (load_keyring("keyring.backends.null.Keyring"), "there is no keyring on this machine"),
        (load_keyring("keyring.backends.fail.Keyring"), "there is no keyring on this machine"),
        (Plaintext(), "there is no keyring on this machine"),
        (Locked(), "the keyring is locked"),
        (Failing(), "the keyring refused (ConnectionResetError)"),
        (Forgetful(), "the keyring (keyrings Forgetful) did not save it"),
    ],
    ids=["null", "fail", "plaintext", "locked", "failing", "forgetful"],
)
def test_a_keyring_that_keeps_nothing_falls_back_to_the_file(
    backend: KeyringBackend, reason: str, folder: Path, use_keyring: UseKeyring
) -> None:
    use_keyring(backend)
    kept = save_credential(folder, "team", HUB, KEY)
    file = folder / "credentials.toml"
    assert (kept.storage, kept.reason) == (KeyStorage.FILE, reason)
    assert kept.sentence == f"The key is saved in {file} (mode 0600): {reason}"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    credential = find_credential(load_config(context="team"))
    assert (credential.key, credential.source) == (KEY, str(file))


def test_a_keyring_that_hangs_is_left_behind_and_does_not_keep_a_second_copy(
    use_keyring: UseKeyring, folder: Path
) -> None:
    backend = Hanging()
    use_keyring(backend)
    kept = save_credential(folder, "team", HUB, KEY)
    assert kept.storage == KeyStorage.FILE
    assert kept.reason == "the keyring did not answer within 3 seconds"
    (thread,) = backend.threads
    assert thread.daemon
    backend.opened.set()
    thread.join(60)
    assert backend.kept == {}
    assert find_credential(load_config(context="team")).key == KEY


def test_a_keyring_requested_by_name_is_not_replaced_by_the_file(
    folder: Path, use_keyring: UseKeyring
) -> None:
    use_keyring(Locked())
    with pytest.raises(StorageFailed) as caught:
        save_credential(folder, "team", HUB, KEY, KeyStorage.KEYRING)
    assert caught.value.message == "The key was not saved: the keyring is locked"
    assert not (folder / "credentials.toml").exists()


def test_the_file_requested_by_name_asks_no_keyring(folder: Path, use_keyring: UseKeyring) -> None:
    backend = Hanging()
    use_keyring(backend)
    kept = save_credential(folder, "team", HUB, KEY, KeyStorage.FILE)
    assert (kept.storage, kept.reason, backend.threads) == (KeyStorage.FILE, None, [])


def test_a_key_in_a_keyring_that_is_locked_later_is_missing_with_a_reason(
    folder: Path, use_keyring: UseKeyring
) -> None:
    use_keyring(Working())
    save_credential(folder, "team", HUB, KEY)
    use_keyring(Locked())
    credential = find_credential(load_config(context="team"))
    assert (credential.key, credential.source) == (None, "keyring")
    assert credential.trouble == (
        "The key of `team` cannot be read from the keyring: the keyring is locked"
    )


def test_a_context_that_is_changed_to_another_hub_has_no_key(
    folder: Path, use_keyring: UseKeyring
) -> None:
    backend = Working()
    use_keyring(backend)
    for storage in (KeyStorage.FILE, KeyStorage.KEYRING):
        save_context(folder / "config.toml", "team", {"base_url": HUB})
        save_credential(folder, "team", HUB, KEY, storage)
        assert find_credential(load_config(context="team")).key == KEY
        for other in ("http://hub.example.org", f"{HUB}:8443", "https://other.example.org"):
            save_context(folder / "config.toml", "team", {"base_url": other})
            assert find_credential(load_config(context="team")).key is None


def test_saving_in_one_place_leaves_no_key_in_the_other(
    folder: Path, use_keyring: UseKeyring
) -> None:
    backend = Working()
    use_keyring(backend)
    save_credential(folder, "team", HUB, KEY, KeyStorage.KEYRING)
    save_credential(folder, "team", HUB, "prime_sk_newer", KeyStorage.FILE)
    assert backend.kept == {}
    save_credential(folder, "team", HUB, KEY, KeyStorage.KEYRING)
    assert "newer" not in (folder / "credentials.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("storage", [KeyStorage.FILE, KeyStorage.KEYRING])
def test_a_removed_key_is_nowhere(
    storage: KeyStorage, folder: Path, use_keyring: UseKeyring
) -> None:
    backend = Working()
    use_keyring(backend)
    save_credential(folder, "team", HUB, KEY, storage)
    assert remove_credential(folder, "team")
    assert not remove_credential(folder, "team")
    assert backend.kept == {}
    assert KEY not in (folder / "credentials.toml").read_text(encoding="utf-8")
    assert find_credential(load_config(context="team")).source == "not set"


def test_a_key_in_a_locked_keyring_is_not_reported_as_removed(
    folder: Path, use_keyring: UseKeyring
) -> None:
    use_keyring(Working())
    save_credential(folder, "team", HUB, KEY)
    use_keyring(Locked())
    with pytest.raises(StorageFailed, match="still in the keyring: the keyring is locked"):
        remove_credential(folder, "team")


def test_many_writers_at_once_lose_no_key(folder: Path) -> None:
    names = [f"team-{number}" for number in range(16)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: save_credential(folder, n, HUB, KEY, KeyStorage.FILE), names))
    text = (folder / "credentials.toml").read_text(encoding="utf-8")
    assert all(f"[contexts.{name}]" in text for name in names)


def test_a_key_is_in_no_repr(folder: Path, use_keyring: UseKeyring) -> None:
    use_keyring(Failing())
    kept = save_credential(folder, "team", HUB, KEY)
    assert KEY not in repr((kept, find_credential(load_config(context="team"))))


@pytest.mark.parametrize(
    ("environ", "platform", "asked"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", False),
        ({"DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/bus"}, "linux", True),
        ({"DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/bus", "CI": "true"}, "linux", False),
        ({"DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/bus", "CI": "false"}, "linux", True),
        ({"SSH_CONNECTION": "1 2 3 4"}, "linux", False),
        ({"SSH_CONNECTION": "1 2 3 4", "DBUS_SESSION_BUS_ADDRESS": "unix:"}, "linux", True),
        ({"PYTHON_KEYRING_BACKEND": "mine.Keyring"}, "linux", True),
        ({"PYTHON_KEYRING_BACKEND": "mine.Keyring", "CI": "1"}, "linux", False),
        ({}, "darwin", True),
        ({"CI": "1"}, "darwin", False),
        ({}, "win32", True),
    ],
)
def test_a_keyring_is_tried_only_where_one_can_be(
    environ: dict[str, str], platform: str, asked: bool
) -> None:
    assert (keyrings.unavailable_reason(environ, platform) == "") is asked


def test_where_none_can_be_no_backend_is_loaded(
    folder: Path, use_keyring: UseKeyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = Hanging()
    use_keyring(backend)
    monkeypatch.setenv("CI", "true")
    kept = save_credential(folder, "team", HUB, KEY)
    assert (kept.reason, backend.threads) == ("a CI job has no keyring", [])


def test_a_key_is_found_without_writing_anything(folder: Path) -> None:
    save_credential(folder, "team", HUB, KEY, KeyStorage.FILE)
    (folder / "credentials.lock").unlink()
    before = {path.name: path.stat().st_mtime_ns for path in (folder, *folder.iterdir())}
    folder.chmod(0o500)
    try:
        assert find_credential(load_config(context="team")).key == KEY
    finally:
        folder.chmod(0o700)
    assert {path.name: path.stat().st_mtime_ns for path in (folder, *folder.iterdir())} == before
