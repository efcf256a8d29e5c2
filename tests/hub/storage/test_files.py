import errno
from pathlib import Path

import pytest

from prime_cli.core.errors import StorageFailed, UsageError
from prime_cli.hub.storage import open_storage
from prime_cli.hub.storage.files import FileStorage

DIGEST = "ab" + "0" * 62


def test_location_without_a_scheme_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "incoming").write_bytes(b"word")
    open_storage(str(tmp_path / "blobs")).put(tmp_path / "incoming", DIGEST)
    assert (tmp_path / "blobs" / "ab" / DIGEST).read_bytes() == b"word"


@pytest.mark.parametrize("location", ["s3:/bucket", "gs://bucket/prefix", "file:///srv/blobs"])
def test_mistyped_bucket_is_not_a_folder(location: str) -> None:
    with pytest.raises(UsageError, match="is neither a folder nor a bucket"):
        open_storage(location)


def test_folder_that_cannot_be_written_is_a_storage_failure(tmp_path: Path) -> None:
    (tmp_path / "blobs").touch()
    incoming = tmp_path / "incoming"
    incoming.touch()
    with pytest.raises(StorageFailed):
        FileStorage(tmp_path / "blobs").put(incoming, DIGEST)
    assert incoming.exists()


class FarFile(type(Path())):  # type: ignore[misc]
    """A file on another file system than the blobs."""

    def replace(self, target: object) -> Path:
        raise OSError(errno.EXDEV, "Invalid cross-device link")


def test_file_of_another_file_system_is_copied_in(tmp_path: Path) -> None:
    incoming = FarFile(tmp_path / "incoming")
    incoming.write_bytes(b"word")
    storage = FileStorage(tmp_path / "blobs")
    storage.put(incoming, DIGEST)
    assert not incoming.exists()
    assert [path.name for path in (tmp_path / "blobs" / "ab").iterdir()] == [DIGEST]
    assert storage.path(DIGEST).read_bytes() == b"word"


def test_other_files_among_the_blobs_are_not_listed(tmp_path: Path) -> None:
    (tmp_path / "ab").mkdir()
    (tmp_path / "ab" / f".{DIGEST}.1-1.tmp").touch()
    (tmp_path / "note").touch()
    assert list(FileStorage(tmp_path).list()) == []


def test_storage_of_a_new_hub_has_no_blobs(tmp_path: Path) -> None:
    assert list(FileStorage(tmp_path / "none").list()) == []


def test_files_have_no_links(tmp_path: Path) -> None:
    assert FileStorage(tmp_path).link(DIGEST, "word.whl", 60) is None
