"""Schema 6: signatures beside the versions they are about."""

from alembic.operations import Operations
from sqlalchemy import Column, Integer, PrimaryKeyConstraint, Text

from prime_cli.hub.db.migrations.columns import owned_by, text


def upgrade(op: Operations) -> None:
    """From schema 5."""
    op.create_table(
        "signatures",
        text("version_id"),
        Column("number", Integer, nullable=False),
        Column("body", Text, nullable=False),
        text("updated_at"),
        PrimaryKeyConstraint("version_id", name="pk_signatures"),
        owned_by("signatures", "version_id", "versions.id"),
    )
