"""Files are replaced whole or not at all."""

import errno
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from prime_cli.core.errors import StorageFailed
from prime_cli.core.paths import replacing, storage_failure, write_atomically


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


def test_a_place_that_cannot_be_written_is_told_with_its_path(tmp_path: Path) -> None:
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


def test_nobody_can_prepare_the_file_that_is_written(tmp_path: Path) -> None:
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
