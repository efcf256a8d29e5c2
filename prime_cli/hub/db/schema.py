"""Open a database with the schema of this release: create or migrate it if needed."""

from pathlib import Path

from prime_cli.hub.db.engine import Database
from prime_cli.hub.db.sqlite import Synchronous, create_sqlite, open_sqlite
from prime_cli.hub.db.tables import SCHEMA, metadata


def open_database(location: Path | str, *, synchronous: Synchronous = "NORMAL") -> Database:
    """The database at `location`, with the tables of this release.

    A path is a SQLite file, with `synchronous` as in `open_sqlite`; a text is a `postgresql://`
    URL, where the server decides what a commit waits for. Raises StorageFailed if it cannot be
    created or belongs to a newer release, Unreachable without a server, UsageError for an invalid
    URL.
    """
    if isinstance(location, str):
        # Takes 60 ms to import, and only a served hub has the driver.
        from prime_cli.hub.db.postgres import open_postgres

        return _at_this_schema(open_postgres(location))
    if not location.exists():
        create_sqlite(location, metadata)
    return _at_this_schema(open_sqlite(location, synchronous=synchronous))


def _at_this_schema(database: Database) -> Database:
    with database.read() as connection:
        version = database.schema_version(connection)
    if version != str(SCHEMA):
        # Alembic takes 60 ms to import, and almost no command needs it.
        from prime_cli.hub.db.migrations import migrate

        migrate(database)
    return database
