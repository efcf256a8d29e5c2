"""Schema 7: pods, disks, and the public keys that open them."""

from alembic.operations import Operations
from sqlalchemy import (
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

from prime_cli.hub.db.migrations.columns import owned_by, text


def upgrade(op: Operations) -> None:
    """From schema 6."""
    op.create_table(
        "pods",
        text("id"),
        text("tag"),
        text("user_id"),
        Column("team_id", String),
        Column("shared", Boolean, nullable=False),
        text("name"),
        text("provider"),
        Column("offer", Text, nullable=False),
        Column("request", Text, nullable=False),
        Column("nodes", Integer, nullable=False),
        Column("price_hr", Float),
        text("status"),
        Column("progress", Integer),
        Column("failure", Text),
        Column("addresses", Text, nullable=False),
        Column("host_keys", Text, nullable=False),
        text("created_at"),
        text("updated_at"),
        text("stop_at"),
        Column("terminated_at", String),
        PrimaryKeyConstraint("id", name="pk_pods"),
        UniqueConstraint("tag", name="uq_pods_tag"),
        *_owners("pods"),
    )
    _index(op, "pods", "user_id", "team_id", "stop_at", "terminated_at")
    op.create_table(
        "pod_members",
        text("pod_id"),
        text("user_id"),
        PrimaryKeyConstraint("pod_id", "user_id", name="pk_pod_members"),
        owned_by("pod_members", "pod_id", "pods.id"),
        owned_by("pod_members", "user_id", "owners.id"),
    )
    _index(op, "pod_members", "user_id")
    op.create_table(
        "disks",
        text("id"),
        text("tag"),
        text("user_id"),
        Column("team_id", String),
        text("name"),
        text("provider"),
        Column("size", Integer, nullable=False),
        Column("offer", Text, nullable=False),
        Column("price_hr", Float),
        text("status"),
        text("created_at"),
        text("updated_at"),
        Column("terminated_at", String),
        PrimaryKeyConstraint("id", name="pk_disks"),
        UniqueConstraint("tag", name="uq_disks_tag"),
        *_owners("disks"),
    )
    _index(op, "disks", "user_id", "team_id")
    op.create_table(
        "pod_disks",
        text("pod_id"),
        text("disk_id"),
        PrimaryKeyConstraint("pod_id", "disk_id", name="pk_pod_disks"),
        owned_by("pod_disks", "pod_id", "pods.id"),
        owned_by("pod_disks", "disk_id", "disks.id"),
    )
    _index(op, "pod_disks", "disk_id")
    op.create_table(
        "ssh_keys",
        text("id"),
        text("user_id"),
        text("name"),
        Column("public_key", Text, nullable=False),
        text("fingerprint"),
        Column("is_primary", Boolean, nullable=False),
        text("created_at"),
        text("updated_at"),
        PrimaryKeyConstraint("id", name="pk_ssh_keys"),
        owned_by("ssh_keys", "user_id", "owners.id"),
    )
    _index(op, "ssh_keys", "user_id")


def _owners(table: str) -> list[ForeignKeyConstraint]:
    return [
        ForeignKeyConstraint([column], ["owners.id"], name=f"fk_{table}_{column}")
        for column in ("user_id", "team_id")
    ]


def _index(op: Operations, table: str, *columns: str) -> None:
    for column in columns:
        op.create_index(f"ix_{table}_{column}", table, [column])
