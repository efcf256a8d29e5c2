"""Bring a database to the schema of this release: made at once when new, migrated when older."""

import os
from pathlib import Path

from sqlalchemy import Connection, Engine

from prime_cli.core.errors import StorageFailed
from prime_cli.core.paths import flush_file, make_folder, storage_errors
from prime_cli.hub.db.engine import Database, Synchronous, database_errors, open_sqlite
from prime_cli.hub.db.tables import SCHEMA, metadata


def open_database(path: Path, *, synchronous: Synchronous = "NORMAL") -> Database:
    """The SQLite database at `path`, with the tables of this release; see `open_sqlite`.

    Raises StorageFailed when it cannot be made, or was written by a newer release.
    """
    if not path.exists():
        _create(path)
    database = open_sqlite(path, synchronous=synchronous)
    with database.read() as connection:
        number = schema_number(connection)
    if number > SCHEMA:
        raise StorageFailed(
            f"{path} was written by a newer prime (schema {number}, this one knows {SCHEMA})",
            hint="upgrade prime, or set PRIME_HOME to another folder",
        )
    if number < SCHEMA:
        # Alembic takes 60 ms to import, and almost no command needs it.
        from prime_cli.hub.db.migrations import migrate

        migrate(database)
    return database


def schema_number(connection: Connection) -> int:
    """The schema that a SQLite database says it has; 0 when it is empty."""
    return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())


def stamp(connection: Connection, number: int) -> None:
    """Write the schema number; part of the transaction."""
    connection.exec_driver_sql(f"PRAGMA user_version = {number:d}")


def _create(path: Path) -> None:
    """Make a new database beside `path` and link it into place whole.

    Of two processes that do so at once one wins, and neither meets a half-made database.
    """
    make_folder(path.parent)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with storage_errors(path):
        try:
            temporary.unlink(missing_ok=True)
            _fill(open_sqlite(temporary, synchronous="OFF"))
            temporary.chmod(0o600)
            flush_file(temporary)
            _publish(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)


def _fill(database: Database) -> None:
    with database_errors(database.name):
        _use_write_ahead_log(database.engine)
    with database.write() as connection:
        metadata.create_all(connection, checkfirst=False)
        stamp(connection, SCHEMA)
    database.engine.dispose()


def _use_write_ahead_log(engine: Engine) -> None:
    """Let readers go on while somebody writes; the file remembers it."""
    raw = engine.raw_connection()
    try:
        raw.cursor().execute("PRAGMA journal_mode = WAL")
    finally:
        raw.close()


def _publish(temporary: Path, path: Path) -> None:
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        return
    except OSError:
        # No hard links on this file system; a rename is as good but for two at once.
        if not path.exists():
            temporary.rename(path)
