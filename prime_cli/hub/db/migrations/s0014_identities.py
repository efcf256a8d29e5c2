"""Schema 14: users and CI jobs that other providers vouch for."""

from alembic.operations import Operations
from sqlalchemy import Column, PrimaryKeyConstraint, String, Text

from prime_cli.hub.db.migrations.columns import owned_by, text


def upgrade(op: Operations) -> None:
    """From schema 13."""
    op.add_column("keys", Column("publishes", String))
    op.create_table(
        "identities",
        text("issuer"),
        text("subject"),
        text("user_id"),
        Column("email", String),
        text("created_at"),
        text("last_used_at"),
        PrimaryKeyConstraint("issuer", "subject", name="pk_identities"),
        owned_by("identities", "user_id", "owners.id"),
    )
    op.create_index("ix_identities_user_id", "identities", ["user_id"])
    op.create_table(
        "publishers",
        text("id"),
        text("owner_id"),
        text("environment"),
        text("issuer"),
        Column("claims", Text, nullable=False),
        Column("pinned", Text, nullable=False),
        text("created_by"),
        text("created_at"),
        Column("last_used_at", String),
        PrimaryKeyConstraint("id", name="pk_publishers"),
        owned_by("publishers", "owner_id", "owners.id"),
    )
    op.create_index("ix_publishers_owner_id", "publishers", ["owner_id"])
    op.create_index("ix_publishers_issuer", "publishers", ["issuer"])
    op.create_table(
        "used_tokens",
        text("sha256"),
        text("expires_at"),
        PrimaryKeyConstraint("sha256", name="pk_used_tokens"),
    )
    op.create_index("ix_used_tokens_expires_at", "used_tokens", ["expires_at"])
