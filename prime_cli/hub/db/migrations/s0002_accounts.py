"""Schema 2: accounts, secrets, evaluations, and what a served hub keeps of its own running."""

from alembic.operations import Operations
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
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
from prime_cli.hub.db.migrations.s0002_evaluations import create_evaluations


def upgrade(op: Operations) -> None:
    """From schema 1."""
    op.add_column("owners", Column("name", String, nullable=False, server_default=""))
    op.add_column("owners", Column("email", String))
    op.add_column("owners", Column("admin", Boolean, nullable=False, server_default=sql("false")))
    _extend_catalogue(op)
    _create_accounts(op)
    _create_secrets(op)
    create_evaluations(op)
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
