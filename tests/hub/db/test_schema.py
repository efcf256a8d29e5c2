import math
import multiprocessing
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import inspect, select, text

from prime_cli.core.errors import IntegrityError, StorageFailed
from prime_cli.hub.db.engine import Database
from prime_cli.hub.db.migrations import STEPS, migrate
from prime_cli.hub.db.postgres import open_postgres
from prime_cli.hub.db.schema import open_database
from prime_cli.hub.db.sqlite import open_sqlite
from prime_cli.hub.db.tables import (
    SCHEMA,
    challenges,
    environments,
    evaluated,
    keys,
    metadata,
    owners,
)
from tests.helpers.postgres import fresh_database


@pytest.fixture(params=["sqlite", "postgres"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path | str]:
    """Where a database is that has nothing in it."""
    if request.param == "sqlite":
        (tmp_path / "empty.db").touch()
        yield tmp_path / "empty.db"
        return
    with fresh_database("template0") as url:
        yield url


def open_bare(location: Path | str) -> Database:
    """The database as it is, whatever its schema."""
    return open_sqlite(location) if isinstance(location, Path) else open_postgres(location)


def statements(database: Database) -> dict[str, Any]:
    """Every table with its columns, keys and indexes, in an order that does not matter."""
    with database.read() as connection:
        seen = inspect(connection)
        return {
            table: (
                sorted(_column(column) for column in seen.get_columns(table)),
                seen.get_pk_constraint(table),
                sorted(repr(key) for key in seen.get_foreign_keys(table)),
                sorted(repr(unique) for unique in seen.get_unique_constraints(table)),
                sorted(_index(index) for index in seen.get_indexes(table)),
            )
            for table in seen.get_table_names()
            # SQLite keeps a full-text index in tables too.
            if table != "schema_steps" and not table.startswith("search")
        }


def texts(database: Database) -> list[tuple[str, str]]:
    """What only SQLite has: the texts of its full-text index and triggers."""
    if database.engine.dialect.name != "sqlite":
        return []
    made = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' OR name LIKE 'search%'"
    with database.read() as connection:
        return sorted((row.name, row.sql) for row in connection.execute(text(made)))


def _column(column: Any) -> str:
    """The column with all that its type says: `repr` of a type leaves the collation out."""
    return f"{column} {getattr(column['type'], 'collation', None)}"


def _index(index: Any) -> str:
    """The index with the condition of a partial one: `repr` shows where that is in memory."""
    options = index.get("dialect_options", {})
    return f"{index['name']} {index['column_names']} {[str(each) for each in options.values()]}"


def number_of(database: Database) -> int:
    with database.read() as connection:
        return database.schema_number(connection)


def test_new_database_is_made_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "hub.db"
    database = open_database(path)
    assert number_of(database) == SCHEMA
    database.engine.dispose()
    assert [file.name for file in path.parent.iterdir()] == ["hub.db"]


def test_empty_database_is_filled_when_opened(empty: Path | str) -> None:
    assert number_of(open_bare(empty)) == 0
    database = open_database(empty)
    assert number_of(database) == SCHEMA
    assert statements(database).keys() == metadata.tables.keys()


def test_migrating_from_empty_gives_the_same_schema(empty: Path | str, tmp_path: Path) -> None:
    migrated = open_bare(empty)
    migrate(migrated)
    seen = statements(migrated), texts(migrated)
    with migrated.write() as connection:
        if isinstance(empty, Path):
            migrated = open_database(tmp_path / "made.db")
        else:
            metadata.drop_all(connection)
            metadata.create_all(connection)
    assert seen == (statements(migrated), texts(migrated))


def test_every_schema_has_its_step() -> None:
    assert len(STEPS) == SCHEMA


def test_rows_of_the_first_schema_outlive_the_next_steps(empty: Path | str) -> None:
    old = open_bare(empty)
    with old.write() as connection:
        STEPS[0](Operations(MigrationContext.configure(connection)))
        old.stamp(connection, 1)
        connection.execute(text("INSERT INTO owners VALUES ('user_1', 'ada', 'user', '2026')"))
    with open_database(empty).read() as connection:
        [row] = connection.execute(select(owners))
    assert (row.slug, row.name, row.email, row.admin) == ("ada", "", None, False)


def test_keys_of_schema_8_stay_and_have_no_parent(empty: Path | str) -> None:
    old = open_bare(empty)
    with old.write() as connection:
        for step in STEPS[:8]:
            step(Operations(MigrationContext.configure(connection)))
        old.stamp(connection, 8)
        for row in (
            "owners (id, slug, type, created_at) VALUES ('user_1', 'ada', 'user', '2026')",
            "keys VALUES ('key_1', 'user_1', 'sk', 'hex', '', 'read', NULL, '2026', NULL, NULL)",
            "challenges VALUES ('CODE', 'hex', 'pem', 'here', '2026', '2027', NULL)",
        ):
            connection.execute(text(f"INSERT INTO {row}"))
    with open_database(empty).read() as connection:
        assert [row.parent_id for row in connection.execute(select(keys))] == [None]
        assert [row.key_id for row in connection.execute(select(challenges))] == [None]


def test_evaluations_of_schema_18_are_counted(empty: Path | str) -> None:
    old = open_bare(empty)
    with old.write() as connection:
        for step in STEPS[:18]:
            step(Operations(MigrationContext.configure(connection)))
        old.stamp(connection, 18)
        for row in (
            "owners (id, slug, type, created_at) VALUES ('user_1', 'ada', 'user', '2026')",
            *(_environment_row(name) for name in ("PUBLIC", "PRIVATE")),
            *(
                f"evaluations {_EVALUATION_COLUMNS} VALUES ('ev_{number}', 'user_1', 'run',"
                f" '{status}', {public}, '[]', '{{}}', '{{}}', 1, {mean}, '2026', '2026')"
                for number, (status, public, mean) in enumerate(
                    [
                        ("COMPLETED", True, 0.5),
                        ("COMPLETED", True, 1),
                        ("COMPLETED", False, 1),
                        ("RUNNING", True, 1),
                    ]
                )
            ),
            *(
                f"evaluated VALUES ('ev_{number}', {place}, '{environment}', 'a/b', false,"
                " NULL, NULL)"
                for number, place, environment in (
                    (0, 0, "PUBLIC"),
                    (1, 0, "PUBLIC"),
                    (1, 1, "PRIVATE"),
                    (2, 0, "PUBLIC"),
                    (3, 0, "PUBLIC"),
                )
            ),
        ):
            connection.execute(text(f"INSERT INTO {row}"))
    with open_database(empty).read() as connection:
        counted = select(environments.c.name, environments.c.evaluations, environments.c.downloads)
        assert sorted(map(tuple, connection.execute(counted))) == [
            ("PRIVATE", 1, 0),
            ("PUBLIC", 1, 0),
        ]
        copied = select(evaluated.c.evaluation_id, evaluated.c.audience, evaluated.c.mean_reward)
        rows = connection.execute(copied.where(evaluated.c.environment_id == "PUBLIC"))
        assert sorted(map(tuple, rows)) == [
            ("ev_0", "", 0.5),
            ("ev_1", "user_1", 1.0),
            ("ev_2", "user_1", 1.0),
            ("ev_3", None, None),
        ]
        ranked = select(evaluated.c.lower_bound, evaluated.c.version_number).distinct()
        assert set(map(tuple, connection.execute(ranked))) == {(-math.inf, 0), (None, 0)}


_EVALUATION_COLUMNS = (
    "(id, owner_id, name, status, is_public, tags, metadata, metrics, sample_count,"
    " average_reward, created_at, updated_at)"
)


def _environment_row(name: str) -> str:
    columns = "(id, owner_id, name, normalized_name, visibility, description, index_stale"
    values = f"('{name}', 'user_1', '{name}', '{name}', '{name}', '', false"
    return f"environments {columns}, created_at, updated_at) VALUES {values}, '2026', '2026')"


def test_database_of_a_newer_release_is_left_alone(empty: Path | str) -> None:
    newer = open_bare(empty)
    with newer.write() as connection:
        newer.stamp(connection, SCHEMA + 1)
    with pytest.raises(StorageFailed, match="newer prime"):
        open_database(empty)
    assert statements(newer) == {}


def fill(location: Path | str, start: Any, results: Any) -> None:
    """Open the database at the same moment as all others."""
    start.wait()
    results.put(number_of(open_database(location)))


@pytest.mark.slow
def test_processes_that_start_at_once_fill_one_database(empty: Path | str) -> None:
    spawn = multiprocessing.get_context("spawn")
    start, results = spawn.Event(), spawn.Queue()
    workers = [spawn.Process(target=fill, args=(empty, start, results)) for _ in range(3)]
    for process in workers:
        process.start()
    start.set()
    assert [results.get(timeout=60) for _ in workers] == [SCHEMA] * 3
    for process in workers:
        process.join(timeout=60)
        assert process.exitcode == 0


def test_step_that_fails_leaves_nothing_behind(empty: Path | str) -> None:
    database = open_bare(empty)
    with database.write() as connection:
        connection.execute(text("CREATE TABLE samples (mine integer)"))
    with pytest.raises(StorageFailed, match="samples"):
        open_database(empty)
    assert list(statements(database)) == ["samples"]
    assert number_of(database) == 0


def test_file_that_is_not_a_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    path.write_bytes(b"notes, not a database" * 100)
    with pytest.raises(IntegrityError, match=r"hub\.db is damaged"):
        open_database(path)


def test_schema_of_a_file_is_in_its_header(tmp_path: Path) -> None:
    open_database(tmp_path / "hub.db").engine.dispose()
    connection = sqlite3.connect(tmp_path / "hub.db")
    assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA,)
    connection.close()


def test_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageFailed, match="file"):
        open_database(tmp_path / "file" / "hub.db")
