"""Schema 5: reports of checks beside the versions they are about."""

from alembic.operations import Operations
from sqlalchemy import Column, PrimaryKeyConstraint, Text

from prime_cli.hub.db.migrations.columns import owned_by, text


def upgrade(op: Operations) -> None:
    """From schema 4."""
    op.create_table(
        "reports",
        text("version_id"),
        Column("summary", Text, nullable=False),
        Column("body", Text, nullable=False),
        text("updated_at"),
        PrimaryKeyConstraint("version_id", name="pk_reports"),
        owned_by("reports", "version_id", "versions.id"),
    )
