"""Schema 2: accounts, secrets, evaluations, and what a served hub keeps of its own running."""

from alembic.operations import Operations
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    String,
    Text,
    UniqueConstraint,
)
from sqlalchemy import (
    text as sql,
)

from prime_cli.hub.db.migrations.columns import text


def upgrade(op: Operations) -> None:
    """From schema 1."""
    op.add_column("owners", Column("name", String, nullable=False, server_default=""))
    op.add_column("owners", Column("email", String))
    op.add_column("owners", Column("admin", Boolean, nullable=False, server_default=sql("false")))
    _extend_catalogue(op)
    _create_accounts(op)
    _create_secrets(op)
    _create_evaluations(op)
    _create_operations(op)


def _extend_catalogue(op: Operations) -> None:
    for table in ("owners", "environments"):
        op.add_column(table, Column("serial", BigInteger, nullable=False, server_default=sql("0")))
    op.add_column("versions", Column("yanked", Text))
    op.create_table(
        "wheel_metadata",
        text("wheel_id"),
        text("sha256"),
        text("requires_python"),
        Column("body", LargeBinary, nullable=False),
        ForeignKeyConstraint(
            ["wheel_id"], ["artifacts.id"], name="fk_wheel_metadata_wheel_id", ondelete="CASCADE"
        ),
        PrimaryKeyConstraint("wheel_id", name="pk_wheel_metadata"),
    )


def _create_accounts(op: Operations) -> None:
    op.create_table(
        "members",
        text("team_id"),
        text("user_id"),
        text("role"),
        text("created_at"),
        ForeignKeyConstraint(
            ["team_id"], ["owners.id"], name="fk_members_team_id", ondelete="CASCADE"
        ),
        ForeignKeyConstraint(
            ["user_id"], ["owners.id"], name="fk_members_user_id", ondelete="CASCADE"
        ),
        PrimaryKeyConstraint("team_id", "user_id", name="pk_members"),
    )
    op.create_index("ix_members_user_id", "members", ["user_id"])
    op.create_table(
        "keys",
        text("id"),
        text("user_id"),
        text("prefix"),
        text("sha256"),
        text("name"),
        text("scope"),
        Column("owner_id", String),
        text("created_at"),
        Column("expires_at", String),
        Column("last_used_at", String),
        ForeignKeyConstraint(
            ["owner_id"], ["owners.id"], name="fk_keys_owner_id", ondelete="CASCADE"
        ),
        ForeignKeyConstraint(
            ["user_id"], ["owners.id"], name="fk_keys_user_id", ondelete="CASCADE"
        ),
        PrimaryKeyConstraint("id", name="pk_keys"),
        UniqueConstraint("sha256", name="uq_keys_sha256"),
    )
    op.create_index("ix_keys_user_id", "keys", ["user_id"])
    op.create_table(
        "former_slugs",
        text("slug"),
        Column("owner_id", String),
        ForeignKeyConstraint(
            ["owner_id"], ["owners.id"], name="fk_former_slugs_owner_id", ondelete="SET NULL"
        ),
        PrimaryKeyConstraint("slug", name="pk_former_slugs"),
    )
    op.create_table(
        "challenges",
        text("code"),
        text("token_sha256"),
        Column("public_key", Text, nullable=False),
        text("address"),
        text("created_at"),
        text("expires_at"),
        Column("result", Text),
        PrimaryKeyConstraint("code", name="pk_challenges"),
        UniqueConstraint("token_sha256", name="uq_challenges_token_sha256"),
    )


def _create_secrets(op: Operations) -> None:
    op.create_table(
        "secrets",
        text("id"),
        text("owner_id"),
        Column("environment_id", String),
        text("name"),
        Column("value", Text, nullable=False),
        Column("description", Text),
        Column("is_file", Boolean, nullable=False),
        text("created_at"),
        text("updated_at"),
        ForeignKeyConstraint(
            ["environment_id"],
            ["environments.id"],
            name="fk_secrets_environment_id",
            ondelete="CASCADE",
        ),
        ForeignKeyConstraint(
            ["owner_id"], ["owners.id"], name="fk_secrets_owner_id", ondelete="CASCADE"
        ),
        PrimaryKeyConstraint("id", name="pk_secrets"),
        UniqueConstraint(
            "owner_id", "environment_id", "name", name="uq_secrets_owner_id_environment_id_name"
        ),
    )
    op.create_index("ix_secrets_environment_id", "secrets", ["environment_id"])
    op.create_index("ix_secrets_owner_id", "secrets", ["owner_id"])
    op.create_table(
        "secret_links",
        text("id"),
        text("secret_id"),
        text("environment_id"),
        text("created_at"),
        ForeignKeyConstraint(
            ["environment_id"],
            ["environments.id"],
            name="fk_secret_links_environment_id",
            ondelete="CASCADE",
        ),
        ForeignKeyConstraint(
            ["secret_id"], ["secrets.id"], name="fk_secret_links_secret_id", ondelete="CASCADE"
        ),
        PrimaryKeyConstraint("id", name="pk_secret_links"),
        UniqueConstraint(
            "secret_id", "environment_id", name="uq_secret_links_secret_id_environment_id"
        ),
    )
    op.create_table(
        "variables",
        text("id"),
        text("environment_id"),
        text("name"),
        Column("value", Text, nullable=False),
        Column("description", Text),
        text("created_at"),
        text("updated_at"),
        ForeignKeyConstraint(
            ["environment_id"],
            ["environments.id"],
            name="fk_variables_environment_id",
            ondelete="CASCADE",
        ),
        PrimaryKeyConstraint("id", name="pk_variables"),
        UniqueConstraint("environment_id", "name", name="uq_variables_environment_id_name"),
    )


def _create_evaluations(op: Operations) -> None:
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


def _create_operations(op: Operations) -> None:
    op.create_table(
        "counters",
        text("name"),
        Column("value", BigInteger, nullable=False),
        PrimaryKeyConstraint("name", name="pk_counters"),
    )
    op.create_table(
        "audit",
        Column("id", Integer, nullable=False),
        text("at"),
        text("actor"),
        Column("key_id", String),
        Column("address", String),
        text("action"),
        text("target"),
        Column("detail", Text, nullable=False),
        PrimaryKeyConstraint("id", name="pk_audit"),
    )
    op.create_index("ix_audit_at", "audit", ["at"])
    op.create_table(
        "attempts",
        text("name"),
        Column("count", Integer, nullable=False),
        text("until"),
        PrimaryKeyConstraint("name", name="pk_attempts"),
    )
