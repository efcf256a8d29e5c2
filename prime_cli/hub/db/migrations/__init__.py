"""Steps from an older schema to this one, each written with Alembic's operations.

The schema number kept in the database is the number of steps it has taken; `STEPS[n]` leads from
schema n to n + 1. All that are missing are taken in one transaction.
"""

from collections.abc import Callable

from alembic.migration import MigrationContext
from alembic.operations import Operations

from prime_cli.hub.db.engine import Database
from prime_cli.hub.db.migrations import (
    s0001_environments,
    s0002_accounts,
    s0003_search,
    s0004_evaluation_logs,
    s0005_reports,
    s0006_signatures,
    s0007_compute,
    s0008_started_again,
    s0009_parents_of_keys,
)

STEPS: tuple[Callable[[Operations], None], ...] = (
    s0001_environments.upgrade,
    s0002_accounts.upgrade,
    s0003_search.upgrade,
    s0004_evaluation_logs.upgrade,
    s0005_reports.upgrade,
    s0006_signatures.upgrade,
    s0007_compute.upgrade,
    s0008_started_again.upgrade,
    s0009_parents_of_keys.upgrade,
)


def migrate(database: Database) -> None:
    """Take the steps that the database has not taken; of two processes at once the second finds
    nothing to do.
    """
    with database.occupy() as connection:
        operations = Operations(MigrationContext.configure(connection))
        for step in STEPS[database.schema_number(connection) :]:
            step(operations)
        database.stamp(connection, len(STEPS))
