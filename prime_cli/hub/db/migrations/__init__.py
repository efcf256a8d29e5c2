"""Schema migrations, written with Alembic's operations.

A schema's number is the number of steps taken: `STEPS[n]` migrates from schema n to n + 1. All
missing steps run in one transaction.
"""

from collections.abc import Callable

from alembic.migration import MigrationContext
from alembic.operations import Operations

from prime_cli.hub.db.engine import Database
from prime_cli.hub.db.migrations import (
    s0001_environments,
    s0002_accounts,
    s0003_search,
    s0004_additions,
    s0007_compute,
    s0014_identities,
    s0017_sandboxes,
    s0019_counts,
)

STEPS: tuple[Callable[[Operations], None], ...] = (
    s0001_environments.upgrade,
    s0002_accounts.upgrade,
    s0003_search.upgrade,
    s0004_additions.add_evaluation_logs,
    s0004_additions.add_reports,
    s0004_additions.add_signatures,
    s0007_compute.upgrade,
    s0004_additions.add_restart_times,
    s0004_additions.add_key_parents,
    s0004_additions.add_readmes,
    s0004_additions.add_model_usage,
    s0004_additions.add_invitations,
    s0004_additions.add_holders,
    s0014_identities.upgrade,
    s0004_additions.add_takedowns,
    s0004_additions.add_quotas,
    s0017_sandboxes.upgrade,
    s0004_additions.add_browser_sessions,
    s0019_counts.upgrade,
    s0004_additions.add_pending_visibilities,
    s0019_counts.add_ranks,
)


def migrate(database: Database) -> None:
    """Run the missing steps; of two concurrent processes the second finds nothing to do."""
    with database.occupy() as connection:
        operations = Operations(MigrationContext.configure(connection))
        for step in STEPS[database.schema_number(connection) :]:
            step(operations)
        database.stamp(connection, len(STEPS))
