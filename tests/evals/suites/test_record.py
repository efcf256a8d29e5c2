"""What is kept of a suite, and which one is gone on with."""

from pathlib import Path

import pytest

from prime_cli.core.errors import Conflict, NotFound, UsageError
from prime_cli.evals.suites.record import (
    FINISHED,
    CellRecord,
    SuiteFolder,
    SuiteRecord,
    find_suite,
    list_suites,
    load_record,
    new_suite_folder,
    resumable,
    save_record,
)
from tests.evals.suites.keeping import SUITE, kept


def test_a_record_reads_back_as_it_was_written(tmp_path: Path) -> None:
    record = kept(tmp_path)
    (folder, found) = find_suite(None, tmp_path)
    assert found == record
    assert find_suite(str(folder.path), tmp_path)[1] == record
    assert find_suite(record.suite_id[:6], tmp_path)[1] == record


def test_the_newest_comes_first_and_unreadable_ones_are_omitted(tmp_path: Path) -> None:
    old = kept(tmp_path, started="2026-01-01T00:00:00+00:00")
    new = kept(tmp_path, started="2026-01-02T00:00:00+00:00")
    broken = new_suite_folder(SUITE, tmp_path)
    broken.record.write_text("{", encoding="ascii")
    assert [record for _, record in list_suites(tmp_path)] == [new, old]


def test_a_cell_is_changed_in_its_place(tmp_path: Path) -> None:
    record = kept(tmp_path).with_cell(CellRecord("b m", "finished", "1f2e"))
    assert [(cell.key, cell.status) for cell in record.cells] == [
        ("a m", "waiting"),
        ("b m", "finished"),
    ]


def test_the_unfinished_one_of_the_same_file_is_gone_on_with(tmp_path: Path) -> None:
    wanted = kept(tmp_path, started="2026-01-01T00:00:00+00:00")
    kept(tmp_path, started="2026-01-02T00:00:00+00:00", status=FINISHED)
    kept(tmp_path, started="2026-01-03T00:00:00+00:00", digest="cd" * 32)
    found = resumable(SUITE, None, tmp_path)
    assert found is not None
    assert found[1] == wanted


def test_a_file_that_asks_for_something_else_is_refused(tmp_path: Path) -> None:
    other = kept(tmp_path, digest="cd" * 32)
    with pytest.raises(Conflict, match="differs from"):
        resumable(SUITE, other.suite_id, tmp_path)
    assert resumable(SUITE, None, tmp_path) is None


def test_a_finished_one_is_gone_on_with_where_no_other_is(tmp_path: Path) -> None:
    kept(tmp_path, started="2026-01-01T00:00:00+00:00", status=FINISHED)
    newest = kept(tmp_path, started="2026-01-02T00:00:00+00:00", status=FINISHED)
    found = resumable(SUITE, None, tmp_path)
    assert found is not None
    assert found[1] == newest


def test_a_record_of_a_newer_prime_is_not_guessed_at(tmp_path: Path) -> None:
    folder = new_suite_folder(SUITE, tmp_path)
    record = SuiteRecord(
        schema=99, suite_id=folder.suite_id, name="n", file="f", digest="d", started="s"
    )
    save_record(folder, record)
    with pytest.raises(UsageError, match="newer prime"):
        load_record(folder)


def test_a_missing_and_an_ambiguous_id_are_reported(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        find_suite("zz", tmp_path)
    parent = tmp_path / "outputs" / "suites" / "nightly"
    record = kept(tmp_path)
    for name in ("aa11", "aa22"):
        folder = SuiteFolder(parent / name)
        folder.path.mkdir()
        save_record(folder, record)
    with pytest.raises(UsageError, match="aa11"):
        find_suite("aa", tmp_path)
