"""Migrations between the schemas of releases: each other file here is a revision of Alembic.

New databases are created from the tables. A change of the tables adds a revision whose id is the
new `SCHEMA`; its steps name columns themselves, since the tables will change again.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext, MigrationStep, RevisionStep
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from prime_cli.core.errors import StorageFailed
from prime_cli.hub.db.engine import Database
from prime_cli.hub.db.tables import SCHEMA, metadata

_HERE = Path(__file__).parent
_FIRST = (19, 21)
"""Schemas without Alembic's table that revision 21 migrates."""


def migrate(database: Database) -> None:
    """Create the tables or run the missing revisions, in one transaction.

    Of two concurrent processes the second finds nothing to do. Raises StorageFailed for a schema
    that this release does not know.
    """
    with database.occupy() as connection:
        version = database.schema_version(connection)
        number = first_number(connection) if version is None else None
        if number == 0:
            metadata.create_all(connection, checkfirst=False)
            return
        if number is not None and number not in _FIRST:
            raise StorageFailed(
                f"{database.name} has schema {number} of a development version; only 19 and 21 "
                "can be migrated",
                hint="use another database or PRIME_HOME; to keep the data, first open it with "
                "prime's code of 2026-11-27",
            )
        _run_revisions(database, connection, version)


def first_number(connection: Connection) -> int:
    """The number of a schema before Alembic's revisions; 0 for an empty database."""
    if connection.dialect.name == "sqlite":
        return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())
    if not connection.dialect.has_table(connection, "schema_steps"):
        return 0
    newest = "SELECT coalesce(max(number), 0) FROM schema_steps"
    return int(connection.exec_driver_sql(newest).scalar_one())


def _run_revisions(database: Database, connection: Connection, version: str | None) -> None:
    script = ScriptDirectory(_HERE, version_locations=[_HERE])
    if version not in {None, *(each.revision for each in script.walk_revisions())}:
        raise StorageFailed(
            f"{database.name} was written by a newer prime (schema {version}, this one knows "
            f"{SCHEMA})",
            hint="upgrade prime, or use another database or PRIME_HOME",
        )

    def missing(heads: Any, _context: MigrationContext) -> Iterable[RevisionStep]:
        scripts = list(script.iterate_revisions("head", heads, implicit_base=True))
        to_step = MigrationStep.upgrade_from_script
        return [to_step(script.revision_map, each) for each in reversed(scripts)]

    context = MigrationContext.configure(connection, opts={"fn": missing})
    with Operations.context(context):
        context.run_migrations()
