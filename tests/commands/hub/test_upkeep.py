from pathlib import Path

import pytest

from prime_cli.core.errors import ExitCode
from tests.helpers.cli import Prime
from tests.hub.pushing import Push, names, open_app


@pytest.fixture
def hub(tmp_path: Path) -> Path:
    """The data of a hub with one environment."""
    Push(open_app(tmp_path / "hub", database=None, storage=None)).run()
    return tmp_path / "hub"


def test_hub_goes_through_a_file_into_another(prime: Prime, hub: Path, tmp_path: Path) -> None:
    file, new = tmp_path / "hub.tar", tmp_path / "new"
    told = prime("hub", "backup", str(file), "--data", str(hub)).ok()
    assert f"Wrote 1 version and 2 blobs to {file}" in told.err
    assert file.stat().st_mode & 0o777 == 0o600
    prime("hub", "restore", str(file), "--data", str(new)).ok()
    assert names(open_app(new, database=None, storage=None)) == ["word"]


def test_backup_does_not_overwrite_without_force(prime: Prime, hub: Path, tmp_path: Path) -> None:
    file = tmp_path / "hub.tar"
    file.write_text("precious")
    refused = prime("hub", "backup", str(file), "--data", str(hub))
    assert refused.code == ExitCode.CONFLICT
    assert "`--force`" in refused.err
    assert file.read_text() == "precious"
    prime("hub", "backup", str(file), "--data", str(hub), "--force").ok()


def test_restore_into_a_hub_with_users_is_refused(prime: Prime, hub: Path, tmp_path: Path) -> None:
    file = tmp_path / "hub.tar"
    prime("hub", "backup", str(file), "--data", str(hub)).ok()
    refused = prime("hub", "restore", str(file), "--data", str(hub))
    assert refused.code == ExitCode.CONFLICT


def test_restore_of_a_file_that_is_not_there_names_it(prime: Prime, tmp_path: Path) -> None:
    missing = prime("hub", "restore", str(tmp_path / "no.tar"), "--data", str(tmp_path / "new"))
    assert missing.code == ExitCode.NOT_FOUND
    assert "no.tar" in missing.err


def test_gc_says_what_it_would_and_did_delete(prime: Prime, hub: Path) -> None:
    assert "Would delete 0 blobs" in prime("hub", "gc", "--dry-run", "--data", str(hub)).ok().err
    deleted = prime("hub", "gc", "--data", str(hub), "--output", "json").ok().json
    assert deleted["blobs"] == 0


def test_migrate_says_the_schema(prime: Prime, hub: Path) -> None:
    told = prime("hub", "migrate", "--data", str(hub), "--output", "json").ok().json
    assert told["database"] == str(hub / "hub.db")


@pytest.mark.parametrize("argv", [("backup", "x.tar"), ("gc",), ("user", "list"), ("audit",)])
def test_mistyped_folder_is_not_an_empty_hub(
    prime: Prime, tmp_path: Path, argv: tuple[str, ...]
) -> None:
    refused = prime("hub", *argv, "--data", str(tmp_path / "hbu"))
    assert refused.code == ExitCode.NOT_FOUND
    assert "There is no hub in" in refused.err
    assert not (tmp_path / "hbu").exists()
