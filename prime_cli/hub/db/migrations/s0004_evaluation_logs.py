"""Schema 4: logs of runs beside their evaluations."""

from alembic.operations import Operations
from sqlalchemy import Column, PrimaryKeyConstraint, Text

from prime_cli.hub.db.migrations.columns import owned_by, text


def upgrade(op: Operations) -> None:
    """From schema 3."""
    op.create_table(
        "evaluation_logs",
        text("evaluation_id"),
        Column("body", Text, nullable=False),
        text("updated_at"),
        PrimaryKeyConstraint("evaluation_id", name="pk_evaluation_logs"),
        owned_by("evaluation_logs", "evaluation_id", "evaluations.id"),
    )
