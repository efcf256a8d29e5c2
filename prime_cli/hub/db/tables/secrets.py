"""Secrets and variables of owners and environments."""

from sqlalchemy import Boolean, Column, ForeignKey, String, Table, Text, UniqueConstraint

from prime_cli.hub.db.tables.base import metadata, text

secrets = Table(
    "secrets",
    metadata,
    Column("id", String, primary_key=True),
    Column("owner_id", ForeignKey("owners.id", ondelete="CASCADE"), nullable=False, index=True),
    # Null for a secret that is the owner's, to be linked to environments.
    Column("environment_id", ForeignKey("environments.id", ondelete="CASCADE"), index=True),
    text("name"),
    # Encrypted; no answer ever holds it.
    Column("value", Text, nullable=False),
    Column("description", Text),
    Column("is_file", Boolean, nullable=False),
    text("created_at"),
    text("updated_at"),
    UniqueConstraint("owner_id", "environment_id", "name"),
)

secret_links = Table(
    "secret_links",
    metadata,
    Column("id", String, primary_key=True),
    Column("secret_id", ForeignKey("secrets.id", ondelete="CASCADE"), nullable=False),
    Column(
        "environment_id",
        ForeignKey("environments.id", ondelete="CASCADE"),
        nullable=False,
        index=True,
    ),
    text("created_at"),
    UniqueConstraint("secret_id", "environment_id"),
)

variables = Table(
    "variables",
    metadata,
    Column("id", String, primary_key=True),
    Column("environment_id", ForeignKey("environments.id", ondelete="CASCADE"), nullable=False),
    text("name"),
    Column("value", Text, nullable=False),
    Column("description", Text),
    text("created_at"),
    text("updated_at"),
    UniqueConstraint("environment_id", "name"),
)
