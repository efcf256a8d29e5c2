"""Rented machines: pods, disks, and SSH public keys; and sandboxes."""

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    ForeignKey,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from prime_cli.hub.db.tables.base import metadata, text

pods = Table(
    "pods",
    metadata,
    Column("id", String, primary_key=True),
    # The provider's name for it.
    Column("tag", String, nullable=False, unique=True),
    Column("user_id", ForeignKey("owners.id"), nullable=False, index=True),
    Column("team_id", ForeignKey("owners.id"), index=True),
    # Whether every member of the team sees it; otherwise only those of `pod_members`.
    Column("shared", Boolean, nullable=False),
    text("name"),
    text("provider"),
    # The offer and what was asked for, as they were: wire types as JSON, without the values of
    # variables, which are the provider's alone.
    Column("offer", Text, nullable=False),
    Column("request", Text, nullable=False),
    Column("nodes", Integer, nullable=False),
    Column("price_hr", Float),
    # The provider's last report: a `PodStatusEnum`, a percentage, why not, where, and as whom.
    text("status"),
    Column("progress", Integer),
    Column("failure", Text),
    Column("addresses", Text, nullable=False),
    Column("host_keys", Text, nullable=False),
    text("created_at"),
    text("updated_at"),
    Column("stop_at", String, nullable=False, index=True),
    # Set once it is gone; then it belongs to the history.
    Column("terminated_at", String, index=True),
    # When its provider last restarted it, because it was down but resumable.
    Column("started_again", String),
    # The id of the engine or server that has it; NULL if every server reaches it, or none has
    # been found to have it since an upgrade or a restore.
    Column("holder", String),
)

pod_members = Table(
    "pod_members",
    metadata,
    Column("pod_id", ForeignKey("pods.id", ondelete="CASCADE"), primary_key=True),
    Column("user_id", ForeignKey("owners.id", ondelete="CASCADE"), primary_key=True, index=True),
)

disks = Table(
    "disks",
    metadata,
    Column("id", String, primary_key=True),
    Column("tag", String, nullable=False, unique=True),
    Column("user_id", ForeignKey("owners.id"), nullable=False, index=True),
    Column("team_id", ForeignKey("owners.id"), index=True),
    text("name"),
    text("provider"),
    # GB.
    Column("size", Integer, nullable=False),
    Column("offer", Text, nullable=False),
    Column("price_hr", Float),
    text("status"),
    text("created_at"),
    text("updated_at"),
    Column("terminated_at", String),
    Column("holder", String),
)

# The next two are not used any more.
holders = Table(
    "holders",
    metadata,
    Column("id", String, primary_key=True),
    text("name"),
    text("seen_at"),
)

errands = Table(
    "errands",
    metadata,
    Column("id", String, primary_key=True),
    text("holder"),
    text("kind"),
    text("target"),
    Column("lines", Integer),
    text("asked_at"),
    Column("taken_at", String),
    Column("answer", Text),
    Column("failure", Text),
)

pod_disks = Table(
    "pod_disks",
    metadata,
    Column("pod_id", ForeignKey("pods.id", ondelete="CASCADE"), primary_key=True),
    Column("disk_id", ForeignKey("disks.id", ondelete="CASCADE"), primary_key=True, index=True),
)

ssh_keys = Table(
    "ssh_keys",
    metadata,
    Column("id", String, primary_key=True),
    Column("user_id", ForeignKey("owners.id", ondelete="CASCADE"), nullable=False, index=True),
    text("name"),
    Column("public_key", Text, nullable=False),
    # `SHA256:…`, as ssh-keygen shows it.
    text("fingerprint"),
    Column("is_primary", Boolean, nullable=False),
    text("created_at"),
    text("updated_at"),
)

sandboxes = Table(
    "sandboxes",
    metadata,
    Column("id", String, primary_key=True),
    # The provider's name for it.
    Column("tag", String, nullable=False, unique=True),
    Column("user_id", ForeignKey("owners.id"), nullable=False, index=True),
    Column("team_id", ForeignKey("owners.id"), index=True),
    text("name"),
    text("image"),
    text("provider"),
    # What was asked for, as wire type in JSON, without the values of variables and secrets, which
    # are the provider's alone; and what the provider guarantees, by subject.
    Column("request", Text, nullable=False),
    Column("facts", Text, nullable=False),
    Column("memory_gb", Float, nullable=False),
    # A status of `wire.sandboxes`, which only moves forward.
    Column("status", String, nullable=False, index=True),
    Column("exit_code", Integer),
    Column("error_type", String),
    Column("error_message", Text),
    text("created_at"),
    text("updated_at"),
    Column("started_at", String),
    Column("terminated_at", String, index=True),
    Column("stop_at", String, nullable=False, index=True),
    # A retried creation has the key of the first; kept for a day.
    Column("idempotency_key", String),
    # The id of the server that has it; empty for the hub of a command.
    text("holder"),
    UniqueConstraint("user_id", "idempotency_key"),
)

sandbox_labels = Table(
    "sandbox_labels",
    metadata,
    Column("sandbox_id", ForeignKey("sandboxes.id", ondelete="CASCADE"), primary_key=True),
    Column("label", String, primary_key=True, index=True),
)

sandbox_tokens = Table(
    "sandbox_tokens",
    metadata,
    # The digest of a token that opens one sandbox until `expires_at`.
    Column("digest", String, primary_key=True),
    Column(
        "sandbox_id", ForeignKey("sandboxes.id", ondelete="CASCADE"), nullable=False, index=True
    ),
    Column("expires_at", String, nullable=False, index=True),
)
