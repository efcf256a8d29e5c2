"""The part of schema 2 that keeps evaluations and their samples."""

from alembic.operations import Operations
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKeyConstraint,
    Integer,
    PrimaryKeyConstraint,
    String,
    Text,
    UniqueConstraint,
)

from prime_cli.hub.db.migrations.columns import text


def create_evaluations(op: Operations) -> None:
    """Evaluations, what they evaluate, batches and samples."""
    op.create_table(
        "evaluations",
        text("id"),
        text("owner_id"),
        Column("created_by", String),
        Column("creation_key", String),
        text("name"),
        Column("model_name", String),
        Column("dataset", String),
        Column("framework", String),
        Column("task_type", String),
        Column("description", Text),
        Column("suite_id", String),
        Column("run_id", String),
        text("status"),
        Column("error_message", Text),
        Column("is_public", Boolean, nullable=False),
        Column("tags", Text, nullable=False),
        Column("metadata", Text, nullable=False),
        Column("metrics", Text, nullable=False),
        Column("sample_count", Integer, nullable=False),
        Column("average_reward", Float),
        Column("summary", Text),
        text("created_at"),
        text("updated_at"),
        Column("finished_at", String),
        ForeignKeyConstraint(
            ["created_by"], ["owners.id"], name="fk_evaluations_created_by", ondelete="SET NULL"
        ),
        ForeignKeyConstraint(
            ["owner_id"], ["owners.id"], name="fk_evaluations_owner_id", ondelete="CASCADE"
        ),
        PrimaryKeyConstraint("id", name="pk_evaluations"),
        UniqueConstraint("owner_id", "creation_key", name="uq_evaluations_owner_id_creation_key"),
    )
    op.create_index("ix_evaluations_owner_id_created_at", "evaluations", ["owner_id", "created_at"])
    op.create_table(
        "evaluated",
        text("evaluation_id"),
        Column("position", Integer, nullable=False),
        Column("environment_id", String),
        text("slug"),
        Column("was_public", Boolean, nullable=False),
        Column("version_id", String),
        Column("semantic_version", String),
        ForeignKeyConstraint(
            ["environment_id"],
            ["environments.id"],
            name="fk_evaluated_environment_id",
            ondelete="SET NULL",
        ),
        ForeignKeyConstraint(
            ["evaluation_id"],
            ["evaluations.id"],
            name="fk_evaluated_evaluation_id",
            ondelete="CASCADE",
        ),
        PrimaryKeyConstraint("evaluation_id", "position", name="pk_evaluated"),
    )
    op.create_index("ix_evaluated_environment_id", "evaluated", ["environment_id"])
    op.create_table(
        "batches",
        text("evaluation_id"),
        text("sha256"),
        Column("size", Integer, nullable=False),
        text("created_at"),
        ForeignKeyConstraint(
            ["evaluation_id"],
            ["evaluations.id"],
            name="fk_batches_evaluation_id",
            ondelete="CASCADE",
        ),
        PrimaryKeyConstraint("evaluation_id", "sha256", name="pk_batches"),
    )
    op.create_table(
        "samples",
        text("evaluation_id"),
        Column("number", Integer, autoincrement=False, nullable=False),
        Column("identity", String),
        Column("attempt", BigInteger, nullable=False),
        Column("reward", Float),
        Column("failed", Boolean, nullable=False),
        Column("scores", Text, nullable=False),
        Column("size", Integer, nullable=False),
        Column("body", Text, nullable=False),
        ForeignKeyConstraint(
            ["evaluation_id"],
            ["evaluations.id"],
            name="fk_samples_evaluation_id",
            ondelete="CASCADE",
        ),
        PrimaryKeyConstraint("evaluation_id", "number", name="pk_samples"),
        UniqueConstraint("evaluation_id", "identity", name="uq_samples_evaluation_id_identity"),
    )
    op.create_index(
        "ix_samples_page", "samples", ["evaluation_id", "number", "reward", "failed", "size"]
    )
