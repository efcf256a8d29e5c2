"""Where files go, how they are written, and that a home is closed to others."""

import errno
import os
import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from prime_cli.core.errors import StorageFailed
from prime_cli.core.paths import (
    home_folders,
    home_path,
    make_folder,
    prime_home,
    repair_modes,
    replacing,
    storage_failure,
    write_atomically,
)
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


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """An empty home folder with all of XDG's variables set; their folders by their kind."""
    monkeypatch.delenv("PRIME_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    kinds = ("CONFIG", "CACHE", "DATA", "STATE")
    for kind in kinds:
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind))
    return {kind: tmp_path / kind / "prime" for kind in kinds}


def test_xdg_folders_are_used_where_there_is_no_other_home(folders: dict[str, Path]) -> None:
    home = prime_home()
    assert home == folders["DATA"]
    assert home_path(home, "config.toml") == folders["CONFIG"] / "config.toml"
    assert home_path(home, "cache/builds") == folders["CACHE"] / "cache/builds"
    assert home_path(home, "limits") == folders["STATE"] / "limits"
    assert home_path(home, "hub") == home / "hub"
    assert set(home_folders()) == set(folders.values())
    made = make_folder(home_path(home, "interpreters") / "a")
    assert made.is_dir()
    if sys.platform != "win32":
        assert stat.S_IMODE(folders["CACHE"].stat().st_mode) == 0o700


def test_the_page_about_the_folders_is_true(folders: dict[str, Path]) -> None:
    page = Path(__file__).parents[2] / "docs" / "installation.md"
    text = page.read_text("utf-8")
    rows = re.findall(r"^\| `XDG_(\w+)_HOME` \| .+? \| (.+) \|$", text, re.MULTILINE)
    assert [kind for kind, _ in rows] == ["CONFIG", "DATA", "CACHE", "STATE"]
    for kind, names in rows:
        for name in re.findall(r"`([\w.]+)/?`", names):
            assert home_path(prime_home(), name).parent == folders[kind], name


def test_an_unset_variable_of_xdg_has_its_usual_folder(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    home = prime_home()
    assert home == folders["DATA"]
    assert home_path(home, "config.toml") == tmp_path / ".config/prime/config.toml"
    assert home_path(home, "bugs") == tmp_path / ".local/state/prime/bugs"


def test_a_home_that_is_there_stays_the_home(folders: dict[str, Path], tmp_path: Path) -> None:
    usual = tmp_path / ".prime"
    usual.mkdir()
    (usual / "config.json").touch()  # the official client's
    assert prime_home() == folders["DATA"]
    (usual / "config.toml").touch()
    assert prime_home() == usual
    assert home_path(usual, "config.toml") == usual / "config.toml"
    (usual / "config.json").unlink()
    (usual / "config.toml").unlink()
    assert prime_home() == usual


@pytest.mark.usefixtures("folders")
def test_prime_home_wins_over_xdg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIME_HOME", str(tmp_path / "own"))
    assert prime_home() == tmp_path / "own"
    assert home_path(prime_home(), "cache") == tmp_path / "own" / "cache"


def test_without_xdgs_variables_there_is_one_folder(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for kind in folders:
        monkeypatch.delenv(f"XDG_{kind}_HOME")
    assert home_folders() == (tmp_path / ".prime",)
