import math
import multiprocessing
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import Column, Connection, MetaData, Table, inspect, select, text

from prime_cli.core.errors import IntegrityError, StorageFailed
from prime_cli.hub.context import open_database
from prime_cli.hub.db import migrations
from prime_cli.hub.db.engine import Database
from prime_cli.hub.db.postgres import open_postgres
from prime_cli.hub.db.sqlite import open_sqlite
from prime_cli.hub.db.tables import (
    SCHEMA,
    evaluated,
    listed,
    metadata,
)
from tests.helpers.postgres import fresh_database

SCHEMAS = Path(__file__).parent / "schemas"
"""`NUMBER.DIALECT.sql`: how the code of 27 and 28 November 2026 made new databases."""


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
            if table != "alembic_version" and not table.startswith("search")
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


def version_of(database: Database) -> str | None:
    with database.read() as connection:
        return database.schema_version(connection)


def open_old(location: Path | str, schema: int) -> Database:
    """The empty database at `location`, made by the statements of the releases' own code."""
    old = open_bare(location)
    script = (SCHEMAS / f"{schema}.{old.engine.dialect.name[:8]}.sql").read_text("utf-8")
    connection: Any = old.engine.raw_connection()
    with closing(connection):
        driver = connection.driver_connection
        (driver.executescript if isinstance(location, Path) else driver.execute)(script)
    return old


def fill_tables(database: Database) -> None:
    """Add a row to every table, with a value in every column; all ids are `x`."""
    with database.write() as connection:
        for table in tables_of(database, connection):
            row = {column.name: value_for(column) for column in table.columns}
            connection.execute(table.insert().values(row))


def value_for(column: Column[Any]) -> Any:
    if column.name == "summary":
        return "{}"
    values = {bool: True, int: 1, float: 0.5, bytes: b"\xff\0", str: "x", object: ["x"]}
    return values[column.type.python_type]


def rows_of(database: Database) -> dict[str, list[dict[str, Any]]]:
    """Every row of every table, by column."""
    with database.read() as connection:
        return {
            table.name: [dict(row) for row in connection.execute(table.select()).mappings()]
            for table in tables_of(database, connection)
        }


def tables_of(database: Database, connection: Connection) -> list[Table]:
    """The hub's tables as the database has them, each after those that it refers to."""
    found = MetaData()
    found.reflect(connection, only=lambda name, _: name in metadata.tables)
    found.tables["listed"].columns["tokens"].type = listed.c.tokens.type
    return found.sorted_tables


def test_new_database_is_made_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "hub.db"
    database = open_database(path)
    assert version_of(database) == str(SCHEMA)
    database.engine.dispose()
    assert [file.name for file in path.parent.iterdir()] == ["hub.db"]


def test_empty_database_is_filled_when_opened(empty: Path | str) -> None:
    assert version_of(open_bare(empty)) is None
    database = open_database(empty)
    assert version_of(database) == str(SCHEMA)
    assert statements(database).keys() == metadata.tables.keys()


def test_newest_revision_is_the_schema_of_the_tables() -> None:
    folder = Path(migrations.__file__).parent
    script = ScriptDirectory(folder, version_locations=[folder])
    assert script.get_heads() == [str(SCHEMA)]


@pytest.mark.parametrize("schema", [19, 21])
def test_migrating_gives_the_schema_of_a_new_database(empty: Path | str, schema: int) -> None:
    open_old(empty, schema)
    migrated = open_database(empty)
    seen = statements(migrated), texts(migrated), version_of(migrated)
    if isinstance(empty, Path):
        assert seen == made_new(empty.with_name("new.db"))
        return
    with fresh_database("template0") as url:
        assert seen == made_new(url)


def made_new(location: Path | str) -> tuple[object, object, object]:
    new = open_database(location)
    return statements(new), texts(new), version_of(new)


@pytest.mark.parametrize("schema", [19, 21])
def test_rows_outlive_the_migration(empty: Path | str, schema: int) -> None:
    old = open_old(empty, schema)
    fill_tables(old)
    before = rows_of(old)
    assert before.keys() >= metadata.tables.keys() - {"pending_visibilities"}
    after = rows_of(open_database(empty))
    kept = {
        table: [{name: row[name] for name in rows[0]} for row in after[table]]
        for table, rows in before.items()
    }
    if schema == 19:
        # Its version has a number now, which `best of an environment` goes by.
        assert [row["version_number"] for row in after["evaluated"]] == [1]
    assert kept == before


def test_evaluations_of_schema_19_are_ranked(empty: Path | str) -> None:
    old = open_old(empty, 19)
    with old.write() as connection:
        for row in (
            "owners (id, slug, type, created_at) VALUES ('user_1', 'ada', 'user', '2026')",
            _environment_row("PUBLIC"),
            *(
                f"evaluations {_EVALUATION_COLUMNS} VALUES ('ev_{number}', 'user_1', 'run',"
                f" '{status}', true, '[]', '{{}}', '{{}}', 1, 0.5, '2026', '2026', {model},"
                f" {summary})"
                for number, (status, model, summary) in enumerate(
                    [
                        ("COMPLETED", "'m'", """'{"interval": [0.25, 0.75]}'"""),
                        ("COMPLETED", "'m'", "NULL"),
                        ("COMPLETED", "'builtin/echo'", "NULL"),
                        ("RUNNING", "'m'", "NULL"),
                    ]
                )
            ),
            *(
                f"evaluated VALUES ('ev_{number}', 0, 'PUBLIC', 'a/b', false, NULL, NULL, '', 0.5)"
                for number in range(4)
            ),
        ):
            connection.execute(text(f"INSERT INTO {row}"))
    with open_database(empty).read() as connection:
        columns = ("evaluation_id", "mean_reward", "lower_bound", "version_number")
        rows = connection.execute(select(*(evaluated.c[name] for name in columns)))
        assert sorted(map(tuple, rows)) == [
            ("ev_0", 0.5, 0.25, 0),
            ("ev_1", 0.5, -math.inf, 0),
            ("ev_2", None, -math.inf, 0),
            ("ev_3", 0.5, None, 0),
        ]


@pytest.mark.parametrize("schema", [18, 20])
def test_schema_of_no_release_is_refused(empty: Path | str, schema: int) -> None:
    old = open_old(empty, 19)
    with old.write() as connection:
        if isinstance(empty, Path):
            connection.execute(text(f"PRAGMA user_version = {schema}"))
        else:
            connection.execute(text("DELETE FROM schema_steps"))
            connection.execute(text(f"INSERT INTO schema_steps VALUES ({schema})"))
    with pytest.raises(StorageFailed, match=f"has schema {schema} of a development") as caught:
        open_database(empty)
    assert "2026-11-27" in (caught.value.hint or "")
    assert version_of(old) is None


_EVALUATION_COLUMNS = (
    "(id, owner_id, name, status, is_public, tags, metadata, metrics, sample_count,"
    " average_reward, created_at, updated_at, model_name, summary)"
)


def _environment_row(name: str) -> str:
    columns = "(id, owner_id, name, normalized_name, visibility, description, index_stale"
    values = f"('{name}', 'user_1', '{name}', '{name}', '{name}', '', false"
    return f"environments {columns}, created_at, updated_at) VALUES {values}, '2026', '2026')"


def test_database_of_a_newer_release_is_left_alone(empty: Path | str) -> None:
    newer = open_bare(empty)
    with newer.write() as connection:
        connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32))"))
        connection.execute(text(f"INSERT INTO alembic_version VALUES ('{SCHEMA + 1}')"))
    with pytest.raises(StorageFailed, match=f"newer prime .schema {SCHEMA + 1}, .* {SCHEMA}"):
        open_database(empty)
    assert statements(newer) == {}


def fill(location: Path | str, start: Any, results: Any) -> None:
    """Open the database at the same moment as all others."""
    start.wait()
    results.put(version_of(open_database(location)))


@pytest.mark.slow
def test_processes_that_start_at_once_fill_one_database(empty: Path | str) -> None:
    spawn = multiprocessing.get_context("spawn")
    start, results = spawn.Event(), spawn.Queue()
    workers = [spawn.Process(target=fill, args=(empty, start, results)) for _ in range(3)]
    for process in workers:
        process.start()
    start.set()
    assert [results.get(timeout=60) for _ in workers] == [str(SCHEMA)] * 3
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
    assert version_of(database) is None


def test_file_that_is_not_a_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    path.write_bytes(b"notes, not a database" * 100)
    with pytest.raises(IntegrityError, match=r"hub\.db is damaged"):
        open_database(path)


def test_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageFailed, match="file"):
        open_database(tmp_path / "file" / "hub.db")
