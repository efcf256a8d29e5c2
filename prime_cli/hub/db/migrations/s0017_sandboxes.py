"""Schema 17: sandboxes, their labels and tokens, and how many an owner may have."""

from alembic.operations import Operations
from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    ForeignKeyConstraint,
    Integer,
    PrimaryKeyConstraint,
    String,
    Text,
    UniqueConstraint,
)

from prime_cli.hub.db.migrations.columns import owned_by, text


def upgrade(op: Operations) -> None:
    """From schema 16."""
    op.add_column("quotas", Column("sandboxes", BigInteger))
    op.create_table(
        "sandboxes",
        text("id"),
        text("tag"),
        text("user_id"),
        Column("team_id", String),
        text("name"),
        text("image"),
        text("provider"),
        Column("request", Text, nullable=False),
        Column("facts", Text, nullable=False),
        Column("memory_gb", Float, nullable=False),
        text("status"),
        Column("exit_code", Integer),
        Column("error_type", String),
        Column("error_message", Text),
        text("created_at"),
        text("updated_at"),
        Column("started_at", String),
        Column("terminated_at", String),
        text("stop_at"),
        Column("idempotency_key", String),
        text("holder"),
        PrimaryKeyConstraint("id", name="pk_sandboxes"),
        UniqueConstraint("tag", name="uq_sandboxes_tag"),
        UniqueConstraint("user_id", "idempotency_key", name="uq_sandboxes_user_id_idempotency_key"),
        *(
            ForeignKeyConstraint([column], ["owners.id"], name=f"fk_sandboxes_{column}")
            for column in ("user_id", "team_id")
        ),
    )
    _index(op, "sandboxes", "user_id", "team_id", "status", "terminated_at", "stop_at")
    op.create_table(
        "sandbox_labels",
        text("sandbox_id"),
        text("label"),
        PrimaryKeyConstraint("sandbox_id", "label", name="pk_sandbox_labels"),
        owned_by("sandbox_labels", "sandbox_id", "sandboxes.id"),
    )
    _index(op, "sandbox_labels", "label")
    op.create_table(
        "sandbox_tokens",
        text("digest"),
        text("sandbox_id"),
        text("expires_at"),
        PrimaryKeyConstraint("digest", name="pk_sandbox_tokens"),
        owned_by("sandbox_tokens", "sandbox_id", "sandboxes.id"),
    )
    _index(op, "sandbox_tokens", "sandbox_id", "expires_at")


def _index(op: Operations, table: str, *columns: str) -> None:
    for column in columns:
        op.create_index(f"ix_{table}_{column}", table, [column])
