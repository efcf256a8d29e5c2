from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from prime_cli.core.errors import Conflict, StorageFailed
from prime_cli.hub.db.schema import open_database
from prime_cli.hub.db.sqlite import SqliteDatabase, open_sqlite
from prime_cli.hub.db.tables import owners

ADA = {"id": "user_1", "slug": "ada", "type": "user", "created_at": ""}


def test_failed_block_writes_nothing(tmp_path: Path) -> None:
    database = open_database(tmp_path / "hub.db")

    def fail() -> None:
        with database.write() as connection:
            connection.execute(owners.insert().values(ADA))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    with database.read() as connection:
        assert connection.execute(owners.select()).all() == []


def test_reader_sees_one_moment_while_somebody_writes(tmp_path: Path) -> None:
    database = open_database(tmp_path / "hub.db")
    with database.read() as reader:
        assert reader.execute(owners.select()).all() == []
        with database.write() as writer:
            writer.execute(owners.insert().values(ADA))
        assert reader.execute(owners.select()).all() == []


def test_broken_constraint_is_a_conflict(tmp_path: Path) -> None:
    database = open_database(tmp_path / "hub.db")
    twice = [ADA, ADA | {"id": "user_2"}]
    with pytest.raises(Conflict), database.write() as connection:
        connection.execute(owners.insert(), twice)


def test_full_disk_is_a_storage_failure(tmp_path: Path) -> None:
    database = open_database(tmp_path / "hub.db")
    many = [ADA | {"id": str(number), "slug": f"{number}" * 99} for number in range(1000)]
    with database.read() as connection:
        connection.execute(text("PRAGMA max_page_count = 1"))
    with pytest.raises(StorageFailed, match="disk is full"), database.write() as connection:
        connection.execute(owners.insert(), many)


def test_read_only_file_is_a_storage_failure(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    open_database(path)
    engine = create_engine(f"sqlite:///file:{path}?mode=ro&uri=true", poolclass=NullPool)
    with (
        pytest.raises(StorageFailed, match="cannot be written"),
        SqliteDatabase(engine, str(path)).write() as connection,
    ):
        connection.execute(owners.insert().values(ADA))


def test_missing_folder_is_a_storage_failure(tmp_path: Path) -> None:
    with (
        pytest.raises(StorageFailed, match="cannot be written"),
        open_sqlite(tmp_path / "nowhere" / "hub.db").read() as connection,
    ):
        connection.execute(owners.select())
