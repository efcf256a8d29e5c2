"""The tables. Times are ISO 8601 text in UTC, of fixed width, so that they sort as text."""

from typing import Any

from sqlalchemy import Column, Connection, MetaData, PrimaryKeyConstraint, String, Table, event

from prime_cli.hub.db.tables.accounts import (
    attempts,
    audit,
    browser_sessions,
    challenges,
    counters,
    former_slugs,
    identities,
    invitations,
    keys,
    members,
    model_usage,
    publishers,
    quotas,
    secret_links,
    secrets,
    used_tokens,
    variables,
)
from prime_cli.hub.db.tables.base import metadata
from prime_cli.hub.db.tables.compute import (
    disks,
    errands,
    holders,
    pod_disks,
    pod_members,
    pods,
    sandbox_labels,
    sandbox_tokens,
    sandboxes,
    ssh_keys,
)
from prime_cli.hub.db.tables.environments import (
    artifacts,
    environments,
    listed,
    locks,
    owners,
    pending_visibilities,
    readmes,
    reports,
    signatures,
    stars,
    tags,
    tallies,
    uploads,
    versions,
    wheel_metadata,
)
from prime_cli.hub.db.tables.evaluations import (
    batches,
    evaluated,
    evaluation_logs,
    evaluations,
    samples,
)

SCHEMA = 22
"""The number of this schema; each change adds a revision with it to `migrations`."""

_revision = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
"""Alembic's table of the schema's revision, which no backup contains."""


@event.listens_for(metadata, "after_create")
def _stamp(_metadata: MetaData, connection: Connection, **_options: Any) -> None:
    _revision.create(connection)
    connection.execute(_revision.insert().values(version_num=str(SCHEMA)))


__all__ = [
    "SCHEMA",
    "artifacts",
    "attempts",
    "audit",
    "batches",
    "browser_sessions",
    "challenges",
    "counters",
    "disks",
    "environments",
    "errands",
    "evaluated",
    "evaluation_logs",
    "evaluations",
    "former_slugs",
    "holders",
    "identities",
    "invitations",
    "keys",
    "listed",
    "locks",
    "members",
    "metadata",
    "model_usage",
    "owners",
    "pending_visibilities",
    "pod_disks",
    "pod_members",
    "pods",
    "publishers",
    "quotas",
    "readmes",
    "reports",
    "samples",
    "sandbox_labels",
    "sandbox_tokens",
    "sandboxes",
    "secret_links",
    "secrets",
    "signatures",
    "ssh_keys",
    "stars",
    "tags",
    "tallies",
    "uploads",
    "used_tokens",
    "variables",
    "versions",
    "wheel_metadata",
]
