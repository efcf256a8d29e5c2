"""Where files go, how they are written, and that a home is closed to others."""

import errno
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from prime_cli.core.errors import StorageFailed
from prime_cli.core.paths import repair_modes, replacing, storage_failure, write_atomically
from tests.helpers.cli import Prime


def test_a_file_and_its_folder_are_made_for_their_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "made" / "here.json"
    write_atomically(path, b"{}")
    assert path.read_bytes() == b"{}"
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_writer_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_bytes(b"before")
    with pytest.raises(ZeroDivisionError), replacing(path) as file:
        file.writelines(_half_of_it())
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_readers_see_the_old_content_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_bytes(b"before")
    with replacing(path) as file:
        file.write(b"after")
        file.flush()
        assert path.read_bytes() == b"before"
    assert path.read_bytes() == b"after"


def test_a_place_that_cannot_be_written_is_reported_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageFailed, match="file"):
        write_atomically(tmp_path / "file" / "below", b"")


def _half_of_it() -> Iterator[bytes]:
    yield b"half"
    raise ZeroDivisionError


def test_the_way_out_of_a_denied_path_depends_on_whose_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRIME_HOME", str(tmp_path / "home"))
    denied = OSError(errno.EACCES, "Permission denied")
    ours = storage_failure(tmp_path / "home" / "hub", denied)
    others = storage_failure(tmp_path / "outputs", denied)
    assert "PRIME_HOME" in (ours.hint or "")
    assert "PRIME_HOME" not in (others.hint or "")


def test_the_written_file_cannot_be_prepared_by_others(tmp_path: Path) -> None:
    """In a folder that others may write to, a link or an open file would be given the content."""
    path, bait = tmp_path / "credentials.toml", tmp_path / "bait"
    before = {entry.name for entry in tmp_path.iterdir()}
    with replacing(path) as file:
        (temporary,) = {entry.name for entry in tmp_path.iterdir()} - before
        file.write(b"first")
    (tmp_path / temporary).symlink_to(bait)
    write_atomically(path, b"key")
    assert not bait.exists()
    assert path.read_bytes() == b"key"

    (tmp_path / temporary).unlink()
    bait.write_bytes(b"")
    bait.chmod(0o644)
    bait.rename(tmp_path / temporary)
    write_atomically(path, b"key")
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


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
        f"warning: {path} was accessible to other users (mode {before}); now it has mode {after}"
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
