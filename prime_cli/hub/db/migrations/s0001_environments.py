"""Schema 1: owners, environments, their versions and files."""

from alembic.operations import Operations
from sqlalchemy import (
    Boolean,
    Column,
    ForeignKeyConstraint,
    Integer,
    PrimaryKeyConstraint,
    String,
    Text,
    UniqueConstraint,
)


def upgrade(op: Operations) -> None:
    """From nothing."""
    _create_environments(op)
    _create_artifacts(op)
    _create_versions(op)
    _create_lists(op)


def _create_environments(op: Operations) -> None:
    op.create_table(
        "owners",
        _text("id"),
        _text("slug"),
        _text("type"),
        _text("created_at"),
        PrimaryKeyConstraint("id", name="pk_owners"),
        UniqueConstraint("slug", name="uq_owners_slug"),
    )
    op.create_table(
        "environments",
        _text("id"),
        _text("owner_id"),
        _text("name"),
        _text("normalized_name"),
        _text("visibility"),
        Column("description", Text, nullable=False),
        Column("latest_version_id", String),
        Column("index_stale", Boolean, nullable=False),
        _text("created_at"),
        _text("updated_at"),
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
        _text("id"),
        _text("environment_id"),
        _text("kind"),
        _text("content_hash"),
        _text("semantic_version"),
        _text("filename"),
        _text("sha256"),
        Column("declared_size", Integer),
        Column("size", Integer),
        Column("metadata", Text, nullable=False),
        Column("runtime_hint", String),
        _text("created_at"),
        Column("received_at", String),
        Column("checked_at", String),
        PrimaryKeyConstraint("id", name="pk_artifacts"),
        _owned_by("artifacts", "environment_id", "environments.id"),
    )
    op.create_index("ix_artifacts_sha256", "artifacts", ["sha256"])
    op.create_index(
        "ix_artifacts_environment_id_content_hash", "artifacts", ["environment_id", "content_hash"]
    )
    op.create_table(
        "uploads",
        _text("token_sha256"),
        _text("artifact_id"),
        _text("expires_at"),
        PrimaryKeyConstraint("token_sha256", name="pk_uploads"),
        _owned_by("uploads", "artifact_id", "artifacts.id"),
    )


def _create_versions(op: Operations) -> None:
    op.create_table(
        "versions",
        _text("id"),
        _text("environment_id"),
        _text("wheel_id"),
        Column("number", Integer, nullable=False),
        _text("semantic_version"),
        _text("version_key"),
        _text("content_hash"),
        _text("created_at"),
        PrimaryKeyConstraint("id", name="pk_versions"),
        _owned_by("versions", "id", "artifacts.id"),
        _owned_by("versions", "environment_id", "environments.id"),
        _owned_by("versions", "wheel_id", "artifacts.id"),
        *(
            UniqueConstraint("environment_id", column, name=f"uq_versions_environment_id_{column}")
            for column in ("number", "version_key", "content_hash")
        ),
    )
    op.create_table(
        "locks",
        _text("version_id"),
        Column("body", Text, nullable=False),
        _text("updated_at"),
        PrimaryKeyConstraint("version_id", name="pk_locks"),
        _owned_by("locks", "version_id", "versions.id"),
    )


def _create_lists(op: Operations) -> None:
    op.create_table(
        "tags",
        _text("environment_id"),
        _text("tag"),
        PrimaryKeyConstraint("environment_id", "tag", name="pk_tags"),
        _owned_by("tags", "environment_id", "environments.id"),
    )
    op.create_table(
        "stars",
        _text("owner_id"),
        _text("environment_id"),
        PrimaryKeyConstraint("owner_id", "environment_id", name="pk_stars"),
        _owned_by("stars", "owner_id", "owners.id"),
        _owned_by("stars", "environment_id", "environments.id"),
    )


def _text(name: str) -> Column[str]:
    return Column(name, String, nullable=False)


def _owned_by(table: str, column: str, target: str) -> ForeignKeyConstraint:
    return ForeignKeyConstraint([column], [target], name=f"fk_{table}_{column}", ondelete="CASCADE")
