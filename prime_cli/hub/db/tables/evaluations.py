"""Evaluations and their samples."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from prime_cli.hub.db.tables.base import metadata, text

evaluations = Table(
    "evaluations",
    metadata,
    Column("id", String, primary_key=True),
    # The user or team whose evaluation it is, and the user who made it.
    Column("owner_id", ForeignKey("owners.id", ondelete="CASCADE"), nullable=False),
    Column("created_by", ForeignKey("owners.id", ondelete="SET NULL")),
    # The client's name for the request that created it, to recognise a repeat.
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
    # Why an admin of the hub ended its publication.
    Column("taken_down", Text),
    # JSON as received: a list, and two objects.
    Column("tags", Text, nullable=False),
    Column("metadata", Text, nullable=False),
    Column("metrics", Text, nullable=False),
    # Copied from `samples`, so that lists read one table. `sample_count` is also the highest
    # number of a sample.
    Column("sample_count", Integer, nullable=False),
    Column("average_reward", Float),
    # Of rewards and metrics, as JSON; null if a sample was replaced and it must be recomputed.
    Column("summary", Text),
    text("created_at"),
    text("updated_at"),
    Column("finished_at", String),
    # Null without a receipt; the note has its signer, or why it is not valid.
    Column("receipt_valid", Boolean),
    Column("receipt_note", Text),
    Index(None, "owner_id", "created_at"),
    UniqueConstraint("owner_id", "creation_key"),
)

evaluated = Table(
    "evaluated",
    metadata,
    Column("evaluation_id", ForeignKey("evaluations.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    # Null once the environment is deleted; its name stays.
    Column("environment_id", ForeignKey("environments.id", ondelete="SET NULL"), index=True),
    # `owner/name` at evaluation time, and whether it was public when deleted.
    text("slug"),
    Column("was_public", Boolean, nullable=False),
    Column("version_id", String),
    Column("semantic_version", String),
    # Copied from `evaluations` once it is finished, so that the best of an environment is looked
    # up. Who sees it of those who see the environment: empty for all, else the id of its owner.
    Column("audience", String),
    # Null for a baseline too: it is the best of nothing.
    Column("mean_reward", Float),
    # Of the 95 % interval of the mean; -infinity without one.
    Column("lower_bound", Float),
    # In order of publication; 0 if it is not known.
    Column("version_number", Integer),
    Index(
        "ix_evaluated_best",
        "environment_id",
        "audience",
        "version_number",
        "lower_bound",
        "mean_reward",
        "evaluation_id",
        "position",
    ),
)

evaluation_logs = Table(
    "evaluation_logs",
    metadata,
    Column("evaluation_id", ForeignKey("evaluations.id", ondelete="CASCADE"), primary_key=True),
    # The last part of the run's output.
    Column("body", Text, nullable=False),
    text("updated_at"),
)

batches = Table(
    "batches",
    metadata,
    Column("evaluation_id", ForeignKey("evaluations.id", ondelete="CASCADE"), primary_key=True),
    # Of the batch as received, to recognise a repeat.
    Column("sha256", String, primary_key=True),
    Column("size", Integer, nullable=False),
    text("created_at"),
)

samples = Table(
    "samples",
    metadata,
    Column("evaluation_id", ForeignKey("evaluations.id", ondelete="CASCADE"), primary_key=True),
    # From 1, in order of arrival.
    Column("number", Integer, primary_key=True, autoincrement=False),
    # What the sample itself says it is; null where it says nothing that tells it from others. Of
    # two with one identity that of the later attempt is kept.
    Column("identity", String),
    Column("attempt", BigInteger, nullable=False),
    Column("reward", Float),
    # Whether it reports an error at its end.
    Column("failed", Boolean, nullable=False),
    # Numbers in it by name, as JSON.
    Column("scores", Text, nullable=False),
    # Of the body, in bytes.
    Column("size", Integer, nullable=False),
    # JSON as received.
    Column("body", Text, nullable=False),
    UniqueConstraint("evaluation_id", "identity"),
    # All that pages and filters need, without reading the bodies.
    Index("ix_samples_page", "evaluation_id", "number", "reward", "failed", "size"),
)
