"""Zips whose index says other sizes than their members have."""

import io
import struct
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.archive.zip_sizes import check_zip_sizes
from prime_cli.core.errors import UnsafeContent

METHODS = st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
_COMPRESSED_SIZE_IN_INDEX, _SIZE_IN_INDEX = 20, 24
"""Where the index has the sizes of a member, from its signature on (APPNOTE 4.3.12)."""


def zip_of(contents: list[bytes], method: int) -> bytearray:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for number, content in enumerate(contents):
            archive.writestr(f"member-{number}", content)
    return bytearray(file.getvalue())


def stating(archive: bytearray, size: int) -> io.BytesIO:
    """The same zip with another size for its one member."""
    place = archive.index(b"PK\x01\x02") + _SIZE_IN_INDEX
    archive[place : place + 4] = struct.pack("<I", size)
    return io.BytesIO(bytes(archive))


def check(file: io.BytesIO) -> None:
    with zipfile.ZipFile(file) as archive:
        check_zip_sizes(archive, archive.infolist())


@given(st.lists(st.binary(max_size=2000), max_size=4), METHODS)
def test_zips_as_they_are_written_pass(contents: list[bytes], method: int) -> None:
    check(io.BytesIO(bytes(zip_of(contents, method))))


def test_members_of_many_blocks_pass() -> None:
    check(io.BytesIO(bytes(zip_of([b"\0" * 5_000_001, b"\0" * (1 << 20)], zipfile.ZIP_DEFLATED))))


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("size", [0, 10, 2_999_999, 3_000_001])
def test_member_of_another_size_than_stated_is_refused(method: int, size: int) -> None:
    with pytest.raises(UnsafeContent, match="`member-0` is not as long as it states"):
        check(stating(zip_of([b"\0" * 3_000_000], method), size))


def test_member_that_ends_early_is_refused() -> None:
    archive = zip_of([bytes(range(256)) * 40], zipfile.ZIP_DEFLATED)
    place = archive.index(b"PK\x01\x02") + _COMPRESSED_SIZE_IN_INDEX
    archive[place : place + 4] = struct.pack("<I", 20)
    with pytest.raises(UnsafeContent, match="not as long"):
        check(io.BytesIO(bytes(archive)))
