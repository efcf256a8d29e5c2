from pathlib import Path

import pytest

from prime_cli.core.errors import NotFound, StorageFailed
from prime_cli.hub.storage.files import FileStorage

DIGEST = "ab" + "0" * 62


def test_blob_is_moved_in_and_read_at_any_place(tmp_path: Path) -> None:
    storage = FileStorage(tmp_path / "blobs")
    incoming = tmp_path / "incoming"
    incoming.write_bytes(b"0123456789")
    storage.put(incoming, DIGEST)
    assert not incoming.exists()
    with storage.open(DIGEST) as file:
        file.seek(7)
        assert file.read() == b"789"


def test_deleted_blob_is_not_found(tmp_path: Path) -> None:
    storage = FileStorage(tmp_path)
    for _ in range(2):
        storage.delete(DIGEST)
    with pytest.raises(NotFound):
        storage.open(DIGEST)


def test_folder_that_cannot_be_written_is_a_storage_failure(tmp_path: Path) -> None:
    (tmp_path / "blobs").touch()
    incoming = tmp_path / "incoming"
    incoming.touch()
    with pytest.raises(StorageFailed):
        FileStorage(tmp_path / "blobs").put(incoming, DIGEST)
    assert incoming.exists()
