from pathlib import Path

import pytest

from prime_cli.archive.limits import Limits
from prime_cli.archive.sources import SourceFile, list_sources
from prime_cli.core.errors import UnsafeContent
from prime_cli.envs.source_checks import check_sources
from tests.helpers.wild import write_project

FILES = 3  # of a plain project


def test_too_many_files_are_refused(tmp_path: Path) -> None:
    files = list_sources(write_project(tmp_path))
    check_sources(files, limits=Limits(members=FILES))
    with pytest.raises(UnsafeContent, match="There are 3 files to publish, and at most 2 can be"):
        check_sources(files, limits=Limits(members=FILES - 1))


def test_too_many_bytes_are_refused_and_the_largest_file_named(tmp_path: Path) -> None:
    folder = write_project(tmp_path)
    (folder / "data").mkdir()
    (folder / "data" / "large.bin").write_bytes(b"\0" * 5000)
    with pytest.raises(UnsafeContent, match=r"the largest is data/large\.bin"):
        check_sources(list_sources(folder), limits=Limits(total_bytes=5000))


def test_files_that_are_one_on_other_systems_are_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text("[]")
    files = [SourceFile(f"data/{name}", tmp_path / "rows.json", 2) for name in ("Rows", "rows")]
    with pytest.raises(UnsafeContent, match="names both `data/Rows` and `data/rows`"):
        check_sources(files)
