import sqlite3
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect

from prime_cli.core.errors import IntegrityError, StorageFailed
from prime_cli.hub.db.migrations import STEPS, migrate
from prime_cli.hub.db.schema import open_database
from prime_cli.hub.db.sqlite import open_sqlite
from prime_cli.hub.db.tables import SCHEMA


def statements(path: Path) -> dict[str, Any]:
    """Every table with its columns, keys and indexes, in an order that does not matter."""
    database = open_sqlite(path)
    with database.read() as connection:
        seen = inspect(connection)
        return {
            table: (
                sorted(repr(column) for column in seen.get_columns(table)),
                seen.get_pk_constraint(table),
                sorted(repr(key) for key in seen.get_foreign_keys(table)),
                sorted(repr(unique) for unique in seen.get_unique_constraints(table)),
                sorted(repr(index) for index in seen.get_indexes(table)),
            )
            for table in seen.get_table_names()
        }


def user_version(path: Path) -> int:
    connection = sqlite3.connect(path)
    number = connection.execute("PRAGMA user_version").fetchone()[0]
    connection.close()
    return int(number)


def test_new_database_is_made_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "hub.db"
    open_database(path)
    assert user_version(path) == SCHEMA
    assert [file.name for file in path.parent.iterdir()] == ["hub.db"]


def test_migrating_from_empty_gives_the_same_schema(tmp_path: Path) -> None:
    made, migrated = tmp_path / "made.db", tmp_path / "migrated.db"
    open_database(made)
    migrate(open_sqlite(migrated))
    assert statements(migrated) == statements(made)
    assert user_version(migrated) == SCHEMA


def test_every_schema_has_its_step() -> None:
    assert len(STEPS) == SCHEMA


def test_empty_file_is_migrated_when_opened(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    path.touch()
    open_database(path)
    assert "versions" in statements(path)


def test_database_of_a_newer_release_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {SCHEMA + 1}")
    connection.close()
    with pytest.raises(StorageFailed, match="newer prime"):
        open_database(path)


def test_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    path.write_bytes(b"notes, not a database" * 100)
    with pytest.raises(IntegrityError, match=r"hub\.db is damaged"):
        open_database(path)


def test_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageFailed, match="file"):
        open_database(tmp_path / "file" / "hub.db")
