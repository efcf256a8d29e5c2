"""What holds keys is its owner's alone, and is made so where it was not."""

import os
import stat
from pathlib import Path

import pytest

from prime_cli.core.private import repair_modes
from tests.helpers.cli import Prime

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX systems")


@pytest.fixture
def folder(home: Path) -> Path:
    folder = home / ".prime"
    folder.mkdir()
    folder.chmod(0o755)
    for name in ("config.toml", "credentials.toml", "notes.txt"):
        (folder / name).write_text("", encoding="utf-8")
        (folder / name).chmod(0o644)
    return folder


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_whatever_is_made_first_prime_home_is_its_owners_alone(home: Path, prime: Prime) -> None:
    umask = os.umask(0o022)
    try:
        prime("env", "list").ok()
    finally:
        os.umask(umask)
    assert _mode(home / ".prime") == 0o700


def test_files_with_keys_and_their_folder_are_closed_once_and_aloud(
    folder: Path, prime: Prime
) -> None:
    said = prime("config", "path").ok().err
    assert said == ""
    said = prime("config", "show").ok().err
    assert said.splitlines() == [
        f"warning: {path} was open to other users (mode {before}); it is {after} now"
        for path, before, after in (
            (folder / "credentials.toml", "0644", "0600"),
            (folder / "config.toml", "0644", "0600"),
            (folder, "0755", "0700"),
        )
    ]
    assert [_mode(folder), _mode(folder / "notes.txt")] == [0o700, 0o644]
    assert prime("config", "show").ok().err == ""


def test_stricter_modes_stay(folder: Path) -> None:
    (folder / "credentials.toml").chmod(0o400)
    repair_modes(folder)
    assert _mode(folder / "credentials.toml") == 0o400


def test_a_folder_that_is_more_than_primes_home_stays_open(home: Path) -> None:
    home.chmod(0o755)
    (home / "config.toml").write_text("", encoding="utf-8")
    (home / "config.toml").chmod(0o600)
    assert repair_modes(home) == []
    shared = home / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    (shared / "config.toml").write_text("", encoding="utf-8")
    assert len(repair_modes(shared)) == 1
    assert _mode(shared) == 0o1777


def test_without_a_home_nothing_is_made(home: Path) -> None:
    assert repair_modes(home / ".prime") == []
    assert not (home / ".prime").exists()
