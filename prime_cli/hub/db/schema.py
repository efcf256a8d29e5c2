"""Open a database at the schema of this release: created if new, migrated if older."""

from pathlib import Path

from prime_cli.core.errors import StorageFailed
from prime_cli.hub.db.engine import Database
from prime_cli.hub.db.sqlite import Synchronous, create_sqlite, open_sqlite
from prime_cli.hub.db.tables import SCHEMA, metadata


def open_database(location: Path | str, *, synchronous: Synchronous = "NORMAL") -> Database:
    """The database at `location`, with the tables of this release.

    A path is a SQLite file, and `synchronous` is as in `open_sqlite`; a text is a `postgresql://`
    URL, and what a commit waits for is then the server's own setting. Raises StorageFailed when it
    cannot be made, or was written by a newer release; Unreachable without a server; UsageError for
    a text that is no such URL.
    """
    if isinstance(location, str):
        # Only a served hub has the driver, and it takes 60 ms to import.
        from prime_cli.hub.db.postgres import open_postgres

        return _at_this_schema(open_postgres(location))
    if not location.exists():
        create_sqlite(location, metadata, SCHEMA)
    return _at_this_schema(open_sqlite(location, synchronous=synchronous))


def _at_this_schema(database: Database) -> Database:
    with database.read() as connection:
        number = database.schema_number(connection)
    if number > SCHEMA:
        raise StorageFailed(
            f"{database.name} was written by a newer prime (schema {number}, this one knows "
            f"{SCHEMA})",
            hint="upgrade prime, or use another database or PRIME_HOME",
        )
    if number < SCHEMA:
        # Alembic takes 60 ms to import, and almost no command needs it.
        from prime_cli.hub.db.migrations import migrate

        migrate(database)
    return database
