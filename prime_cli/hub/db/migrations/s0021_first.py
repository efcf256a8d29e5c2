"""The first revision: what hubs of 27 and 28 November 2026 had, with schemas 19 and 21.

It can be removed when no hub of those days is left.
"""

import json
import math

from alembic import op
from sqlalchemy import Column, Float, ForeignKey, Integer, PrimaryKeyConstraint, String, text

from prime_cli.hub.db.migrations import first_number

revision = "21"
down_revision = None


def upgrade() -> None:
    """Bring schema 19 to 21, and leave the schema's number to Alembic."""
    if first_number(op.get_bind()) == 19:  # noqa: PLR2004 - the schema's number
        _add_pending_visibilities()
        _add_ranks()
    if op.get_bind().dialect.name == "sqlite":
        op.execute("PRAGMA user_version = 0")
    else:
        op.drop_table("schema_steps")


def _add_pending_visibilities() -> None:
    """Visibilities that take effect when an upload is published."""
    reference = ForeignKey(
        "environments.id", name="fk_pending_visibilities_environment_id", ondelete="CASCADE"
    )
    op.create_table(
        "pending_visibilities",
        Column("environment_id", String, reference),
        Column("publisher", String),
        Column("visibility", String, nullable=False),
        PrimaryKeyConstraint("environment_id", "publisher", name="pk_pending_visibilities"),
    )


def _add_ranks() -> None:
    """Rank evaluations by their version and the lower end of their interval."""
    op.add_column("evaluated", Column("lower_bound", Float))
    op.add_column("evaluated", Column("version_number", Integer))
    connection = op.get_bind()
    finished = text("SELECT id, summary FROM evaluations WHERE status = 'COMPLETED'")
    bound = text("UPDATE evaluated SET lower_bound = :low WHERE evaluation_id = :id")
    for row in connection.execute(finished).all():
        interval = json.loads(row.summary or "{}").get("interval")
        low = interval[0] if interval else -math.inf
        connection.execute(bound, {"low": low, "id": row.id})
    op.execute(
        "UPDATE evaluated SET version_number = coalesce("
        "(SELECT number FROM versions WHERE versions.id = evaluated.version_id), 0)"
    )
    op.execute(
        "UPDATE evaluated SET mean_reward = NULL WHERE evaluation_id IN"
        " (SELECT id FROM evaluations WHERE model_name LIKE 'builtin/%')"
    )
    op.drop_index("ix_evaluated_best", "evaluated")
    order = ["version_number", "lower_bound", "mean_reward", "evaluation_id", "position"]
    op.create_index("ix_evaluated_best", "evaluated", ["environment_id", "audience", *order])
