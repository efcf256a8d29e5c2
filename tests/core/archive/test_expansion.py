"""How much an archive may unpack to, by its own size: one rule for tar.gz, zip and wheels."""

import io
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from prime_cli.core.archive.limits import DEFAULT_LIMITS, MEBIBYTE, ArchiveLimits
from prime_cli.core.archive.members import index_zip, inspect_archive, unpack_archive
from prime_cli.core.archive.reproducibility import repack_wheel
from prime_cli.core.archive.wheel_comparison import check_record
from prime_cli.core.archive.wheels import read_wheel
from prime_cli.core.errors import UnsafeContent
from tests.helpers.wild import write_wheel

SIZES = st.lists(st.integers(0, 20_000), max_size=4)
LIMITS = st.builds(
    ArchiveLimits,
    total_bytes=st.integers(0, 60_000),
    ratio=st.integers(1, 60),
    free_bytes=st.integers(0, 30_000),
)


def zip_of(sizes: list[int]) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, size in enumerate(sizes):
            archive.writestr(f"member-{number}", b"\0" * size)
    return file


def tar_of(sizes: list[int]) -> io.BytesIO:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for number, size in enumerate(sizes):
            info = tarfile.TarInfo(f"member-{number}")
            info.size = size
            archive.addfile(info, io.BytesIO(b"\0" * size))
    return file


def is_taken(file: io.BytesIO, limits: ArchiveLimits) -> bool:
    try:
        inspect_archive(file, limits=limits)
    except UnsafeContent:
        return False
    return True


@given(st.integers(0, 1 << 50), LIMITS)
def test_allowance_grows_with_the_archive_up_to_the_total(
    compressed: int, limits: ArchiveLimits
) -> None:
    allowed = limits.content_bytes(compressed)
    assert allowed <= limits.total_bytes
    assert allowed >= min(limits.total_bytes, limits.free_bytes)
    assert limits.content_bytes(compressed + 1) >= allowed
    limits.check_content(allowed, compressed)
    with pytest.raises(UnsafeContent, match=f"more than the {allowed} bytes"):
        limits.check_content(allowed + 1, compressed)


@given(SIZES, LIMITS)
@example([20_000], ArchiveLimits(ratio=1, free_bytes=20_000))
@example([20_000], ArchiveLimits(ratio=1, free_bytes=19_999))
@example([10_000, 10_000], ArchiveLimits(ratio=1, free_bytes=19_999))
def test_zip_and_tar_are_taken_exactly_up_to_the_allowance(
    sizes: list[int], limits: ArchiveLimits
) -> None:
    for file in (zip_of(sizes), tar_of(sizes)):
        compressed = len(file.getvalue())
        most = min(limits.total_bytes, max(limits.free_bytes, limits.ratio * compressed))
        assert is_taken(file, limits) == (sum(sizes) <= most)


def test_zip_is_refused_before_anything_of_it_is_decompressed() -> None:
    """A member that is damaged is not come to."""
    file = zip_of([20_000])
    file.getbuffer()[40:45] = b"\xff" * 5
    with zipfile.ZipFile(file) as archive, pytest.raises(UnsafeContent, match="far more"):
        index_zip(archive, limits=ArchiveLimits(ratio=1, free_bytes=0))


@pytest.fixture
def long_wheel(tmp_path: Path) -> Path:
    """200 MB of zeros in 200 KB."""
    wheel = write_wheel(tmp_path, {"tiny_env.py": "def load_environment(): ...\n"})
    with (
        zipfile.ZipFile(wheel, "a", zipfile.ZIP_DEFLATED) as archive,
        archive.open("tiny_env_data.bin", "w") as member,
    ):
        for _ in range(200):
            member.write(b"\0" * 1_000_000)
    assert wheel.stat().st_size < MEBIBYTE
    return wheel


def test_wheel_of_zeros_is_refused_whatever_is_done_with_it(
    long_wheel: Path, tmp_path: Path
) -> None:
    for work in (
        read_wheel,
        check_record,
        lambda wheel: repack_wheel(wheel, tmp_path / "repacked.whl"),
        lambda wheel: unpack_archive(wheel, tmp_path / "unpacked"),
    ):
        with pytest.raises(UnsafeContent, match="far more"):
            work(long_wheel)


def test_repetitive_text_passes(tmp_path: Path) -> None:
    """JSON of many like rows: 20 MB in a few KB, below what is free to any archive."""
    rows = '{"question": "How much is 2 + 2?", "answer": "4", "info": {}}\n' * 320_000
    assert len(rows) < DEFAULT_LIMITS.free_bytes
    wheel = write_wheel(tmp_path, {"tiny_env.py": "def load_environment(): ...\n"})
    with zipfile.ZipFile(wheel, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("rows.jsonl", rows)
    assert read_wheel(wheel).exposes == "v0"
