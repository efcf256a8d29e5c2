"""Schema 1: owners, environments, their versions and files."""

from alembic.operations import Operations
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKeyConstraint,
    Integer,
    PrimaryKeyConstraint,
    String,
    Text,
    UniqueConstraint,
)

from prime_cli.hub.db.migrations.columns import owned_by, text


def upgrade(op: Operations) -> None:
    """From nothing."""
    _create_environments(op)
    _create_artifacts(op)
    _create_versions(op)
    _create_lists(op)


def _create_environments(op: Operations) -> None:
    op.create_table(
        "owners",
        text("id"),
        text("slug"),
        text("type"),
        text("created_at"),
        PrimaryKeyConstraint("id", name="pk_owners"),
        UniqueConstraint("slug", name="uq_owners_slug"),
    )
    op.create_table(
        "environments",
        text("id"),
        text("owner_id"),
        text("name"),
        text("normalized_name"),
        text("visibility"),
        Column("description", Text, nullable=False),
        Column("latest_version_id", String),
        Column("index_stale", Boolean, nullable=False),
        text("created_at"),
        text("updated_at"),
        PrimaryKeyConstraint("id", name="pk_environments"),
        ForeignKeyConstraint(["owner_id"], ["owners.id"], name="fk_environments_owner_id"),
        UniqueConstraint(
            "owner_id", "normalized_name", name="uq_environments_owner_id_normalized_name"
        ),
    )
    op.create_index("ix_environments_index_stale", "environments", ["index_stale"])


def _create_artifacts(op: Operations) -> None:
    op.create_table(
        "artifacts",
        text("id"),
        text("environment_id"),
        text("kind"),
        text("content_hash"),
        text("semantic_version"),
        text("filename"),
        text("sha256"),
        Column("declared_size", BigInteger),
        Column("size", BigInteger),
        Column("metadata", Text, nullable=False),
        Column("runtime_hint", String),
        text("created_at"),
        Column("received_at", String),
        Column("checked_at", String),
        PrimaryKeyConstraint("id", name="pk_artifacts"),
        owned_by("artifacts", "environment_id", "environments.id"),
    )
    op.create_index("ix_artifacts_sha256", "artifacts", ["sha256"])
    op.create_index(
        "ix_artifacts_environment_id_content_hash", "artifacts", ["environment_id", "content_hash"]
    )
    op.create_table(
        "uploads",
        text("token_sha256"),
        text("artifact_id"),
        text("expires_at"),
        PrimaryKeyConstraint("token_sha256", name="pk_uploads"),
        owned_by("uploads", "artifact_id", "artifacts.id"),
    )


def _create_versions(op: Operations) -> None:
    op.create_table(
        "versions",
        text("id"),
        text("environment_id"),
        text("wheel_id"),
        Column("number", Integer, nullable=False),
        text("semantic_version"),
        text("version_key"),
        text("content_hash"),
        text("created_at"),
        PrimaryKeyConstraint("id", name="pk_versions"),
        owned_by("versions", "id", "artifacts.id"),
        owned_by("versions", "environment_id", "environments.id"),
        owned_by("versions", "wheel_id", "artifacts.id"),
        *(
            UniqueConstraint("environment_id", column, name=f"uq_versions_environment_id_{column}")
            for column in ("number", "version_key", "content_hash")
        ),
    )
    op.create_table(
        "locks",
        text("version_id"),
        Column("body", Text, nullable=False),
        text("updated_at"),
        PrimaryKeyConstraint("version_id", name="pk_locks"),
        owned_by("locks", "version_id", "versions.id"),
    )


def _create_lists(op: Operations) -> None:
    op.create_table(
        "tags",
        text("environment_id"),
        text("tag"),
        PrimaryKeyConstraint("environment_id", "tag", name="pk_tags"),
        owned_by("tags", "environment_id", "environments.id"),
    )
    op.create_table(
        "stars",
        text("owner_id"),
        text("environment_id"),
        PrimaryKeyConstraint("owner_id", "environment_id", name="pk_stars"),
        owned_by("stars", "owner_id", "owners.id"),
        owned_by("stars", "environment_id", "environments.id"),
    )
