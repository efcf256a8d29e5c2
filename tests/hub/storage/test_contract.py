"""What every storage does, whatever keeps the bytes."""

import hashlib
import io
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from prime_cli.core.errors import NotFound
from prime_cli.hub.storage import Storage

MEBIBYTE = 1024 * 1024


def keep(storage: Storage, folder: Path, content: bytes) -> str:
    """Put `content` there; its digest."""
    digest = hashlib.sha256(content).hexdigest()
    path = folder / "incoming"
    path.write_bytes(content)
    storage.put(path, digest)
    assert not path.exists()
    return digest


def pattern(size: int) -> bytes:
    """Bytes that differ from block to block."""
    return b"".join(number.to_bytes(8, "big") for number in range(-(-size // 8)))[:size]


@pytest.mark.parametrize("size", [0, 1, MEBIBYTE, 5 * MEBIBYTE, 17 * MEBIBYTE + 3])
def test_blob_is_read_as_it_was_put(storage: Storage, tmp_path: Path, size: int) -> None:
    content = pattern(size)
    digest = keep(storage, tmp_path, content)
    assert storage.size(digest) == size
    with storage.open(digest) as file:
        assert file.read() == content
        assert file.read() == b""


def test_blob_is_read_at_any_place(storage: Storage, tmp_path: Path) -> None:
    content = pattern(6 * MEBIBYTE)
    with storage.open(keep(storage, tmp_path, content)) as file:
        for start, length in [(5 * MEBIBYTE, 10), (7, 3), (8, 3 * MEBIBYTE), (len(content) - 2, 9)]:
            assert file.seek(start) == start
            assert file.read(length) == content[start : start + length]
        assert file.seek(-4, io.SEEK_END) == len(content) - 4
        assert file.tell() == len(content) - 4
        assert file.read() == content[-4:]


def test_member_of_an_archive_is_read(storage: Storage, tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("large", pattern(3 * MEBIBYTE))
        archive.writestr("small", "text")
    digest = keep(storage, tmp_path, buffer.getvalue())
    with storage.open(digest) as file, zipfile.ZipFile(file) as archive:
        assert archive.read("small") == b"text"
        assert archive.testzip() is None


def test_blob_that_is_put_again_is_the_same(storage: Storage, tmp_path: Path) -> None:
    digest = keep(storage, tmp_path, b"word")
    assert keep(storage, tmp_path, b"word") == digest
    assert [blob.digest for blob in storage.list()] == [digest]


def test_blob_that_is_not_there_is_not_found(storage: Storage) -> None:
    digest = "ab" + "0" * 62
    assert storage.size(digest) is None
    with pytest.raises(NotFound):
        storage.open(digest)


def test_deleted_blob_is_not_found_and_may_be_deleted_again(
    storage: Storage, tmp_path: Path
) -> None:
    digest = keep(storage, tmp_path, b"word")
    for _ in range(2):
        storage.delete(digest)
        assert storage.size(digest) is None
    assert list(storage.list()) == []


def test_list_names_every_blob_and_since_when_it_is_there(storage: Storage, tmp_path: Path) -> None:
    digests = {keep(storage, tmp_path, bytes([number])) for number in range(20)}
    found = dict(storage.list())
    assert found.keys() == digests
    now = datetime.now(UTC)
    assert all(abs(now - modified) < timedelta(minutes=5) for modified in found.values())


def test_local_path_is_where_the_bytes_are_or_none(storage: Storage, tmp_path: Path) -> None:
    digest = keep(storage, tmp_path, b"word")
    path = storage.local_path(digest)
    assert path is None or path.read_bytes() == b"word"
