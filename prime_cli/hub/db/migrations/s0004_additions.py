"""Schemas 4 to 6, 8 to 13, 15, 16, 18 and 20: single tables and columns."""

from alembic.operations import Operations
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Integer,
    PrimaryKeyConstraint,
    String,
    Text,
    UniqueConstraint,
)

from prime_cli.hub.db.migrations.columns import owned_by, text


def add_evaluation_logs(op: Operations) -> None:
    """From schema 3: logs of runs beside their evaluations."""
    op.create_table(
        "evaluation_logs",
        text("evaluation_id"),
        Column("body", Text, nullable=False),
        text("updated_at"),
        PrimaryKeyConstraint("evaluation_id", name="pk_evaluation_logs"),
        owned_by("evaluation_logs", "evaluation_id", "evaluations.id"),
    )


def add_reports(op: Operations) -> None:
    """From schema 4: check reports beside their versions."""
    op.create_table(
        "reports",
        text("version_id"),
        Column("summary", Text, nullable=False),
        Column("body", Text, nullable=False),
        text("updated_at"),
        PrimaryKeyConstraint("version_id", name="pk_reports"),
        owned_by("reports", "version_id", "versions.id"),
    )


def add_signatures(op: Operations) -> None:
    """From schema 5: signatures beside their versions."""
    op.create_table(
        "signatures",
        text("version_id"),
        Column("number", Integer, nullable=False),
        Column("body", Text, nullable=False),
        text("updated_at"),
        PrimaryKeyConstraint("version_id", name="pk_signatures"),
        owned_by("signatures", "version_id", "versions.id"),
    )


def add_restart_times(op: Operations) -> None:
    """From schema 7: when a pod was last restarted."""
    op.add_column("pods", Column("started_again", String))


def add_key_parents(op: Operations) -> None:
    """From schema 8: what was granted with a key is deleted with the key.

    Existing rows keep no parent, which was not recorded.
    """
    _refer_to_key(op, "keys", "parent_id", initially="DEFERRED")
    _refer_to_key(op, "challenges", "key_id")
    _refer_to_key(op, "uploads", "key_id")


def add_readmes(op: Operations) -> None:
    """From schema 9: READMEs as HTML beside their versions."""
    op.create_table(
        "readmes",
        text("version_id"),
        Column("renderer", Integer, nullable=False),
        Column("html", Text, nullable=False),
        PrimaryKeyConstraint("version_id", name="pk_readmes"),
        owned_by("readmes", "version_id", "versions.id"),
    )


def add_model_usage(op: Operations) -> None:
    """From schema 10: what owners spent on models."""
    op.create_table(
        "model_usage",
        text("owner_id"),
        text("month"),
        text("model"),
        Column("calls", BigInteger, nullable=False),
        Column("input_tokens", BigInteger, nullable=False),
        Column("output_tokens", BigInteger, nullable=False),
        Column("cost_usd", Float, nullable=False),
        Column("unpriced_calls", BigInteger, nullable=False),
        PrimaryKeyConstraint("owner_id", "month", "model", name="pk_model_usage"),
        owned_by("model_usage", "owner_id", "owners.id"),
    )


def add_invitations(op: Operations) -> None:
    """From schema 11: invitations to a hub and to teams."""
    op.create_table(
        "invitations",
        text("id"),
        text("sha256"),
        Column("inviter_id", String),
        Column("key_id", String),
        Column("team_id", String),
        text("role"),
        Column("admin", Boolean, nullable=False),
        Column("for_user", String),
        Column("uses_left", Integer, nullable=False),
        text("created_at"),
        text("expires_at"),
        PrimaryKeyConstraint("id", name="pk_invitations"),
        UniqueConstraint("sha256", name="uq_invitations_sha256"),
        owned_by("invitations", "inviter_id", "owners.id"),
        owned_by("invitations", "key_id", "keys.id"),
        owned_by("invitations", "team_id", "owners.id"),
    )
    for column in ("inviter_id", "key_id", "team_id"):
        op.create_index(f"ix_invitations_{column}", "invitations", [column])


def add_holders(op: Operations) -> None:
    """From schema 12: what has a pod or a disk.

    Those that exist have none until a server's provider is found to know them.
    """
    for table in ("pods", "disks"):
        op.add_column(table, Column("holder", String))
    op.create_table(
        "holders",
        text("id"),
        text("name"),
        text("seen_at"),
        PrimaryKeyConstraint("id", name="pk_holders"),
    )
    op.create_table(
        "errands",
        text("id"),
        text("holder"),
        text("kind"),
        text("target"),
        Column("lines", Integer),
        text("asked_at"),
        Column("taken_at", String),
        Column("answer", Text),
        Column("failure", Text),
        PrimaryKeyConstraint("id", name="pk_errands"),
    )


def add_takedowns(op: Operations) -> None:
    """From schema 14: why something was taken down, or somebody suspended."""
    op.add_column("owners", Column("suspended", Text))
    op.add_column("environments", Column("taken_down", Text))
    op.add_column("environments", Column("was_public", Boolean))
    op.add_column("versions", Column("taken_down", Text))
    op.add_column("evaluations", Column("taken_down", Text))


def add_quotas(op: Operations) -> None:
    """From schema 15: what users and teams may have."""
    op.create_table(
        "quotas",
        text("subject"),
        Column("owner_id", String),
        Column("storage", BigInteger),
        Column("pods", BigInteger),
        Column("tokens", BigInteger),
        PrimaryKeyConstraint("subject", name="pk_quotas"),
        owned_by("quotas", "owner_id", "owners.id"),
    )


def add_browser_sessions(op: Operations) -> None:
    """From schema 17: browsers that are signed in."""
    op.create_table(
        "browser_sessions",
        text("sha256"),
        text("key_id"),
        Column("owns_key", Boolean, nullable=False),
        text("created_at"),
        text("expires_at"),
        PrimaryKeyConstraint("sha256", name="pk_browser_sessions"),
        owned_by("browser_sessions", "key_id", "keys.id"),
    )
    for column in ("key_id", "expires_at"):
        op.create_index(f"ix_browser_sessions_{column}", "browser_sessions", [column])


def add_pending_visibilities(op: Operations) -> None:
    """From schema 19: visibilities that take effect when an upload is published."""
    op.create_table(
        "pending_visibilities",
        text("environment_id"),
        text("publisher"),
        text("visibility"),
        PrimaryKeyConstraint("environment_id", "publisher", name="pk_pending_visibilities"),
        owned_by("pending_visibilities", "environment_id", "environments.id"),
    )


def _refer_to_key(op: Operations, table: str, column: str, initially: str | None = None) -> None:
    # SQLite cannot add a constraint, so there the table is copied.
    with op.batch_alter_table(table) as batch:
        batch.add_column(Column(column, String))
        batch.create_foreign_key(
            f"fk_{table}_{column}",
            "keys",
            [column],
            ["id"],
            ondelete="CASCADE",
            deferrable=True if initially else None,
            initially=initially,
        )
    op.create_index(f"ix_{table}_{column}", table, [column])
