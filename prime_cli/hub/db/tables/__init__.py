"""The tables. Times are ISO 8601 text in UTC, of fixed width, so that they sort as text."""

from prime_cli.hub.db.tables.accounts import (
    attempts,
    audit,
    challenges,
    counters,
    former_slugs,
    keys,
    members,
    model_usage,
    secret_links,
    secrets,
    variables,
)
from prime_cli.hub.db.tables.base import metadata
from prime_cli.hub.db.tables.compute import disks, pod_disks, pod_members, pods, ssh_keys
from prime_cli.hub.db.tables.environments import (
    artifacts,
    environments,
    listed,
    locks,
    owners,
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

SCHEMA = 11
"""The number of this schema; each change adds a step to `migrations`."""

__all__ = [
    "SCHEMA",
    "artifacts",
    "attempts",
    "audit",
    "batches",
    "challenges",
    "counters",
    "disks",
    "environments",
    "evaluated",
    "evaluation_logs",
    "evaluations",
    "former_slugs",
    "keys",
    "listed",
    "locks",
    "members",
    "metadata",
    "model_usage",
    "owners",
    "pod_disks",
    "pod_members",
    "pods",
    "readmes",
    "reports",
    "samples",
    "secret_links",
    "secrets",
    "signatures",
    "ssh_keys",
    "stars",
    "tags",
    "tallies",
    "uploads",
    "variables",
    "versions",
    "wheel_metadata",
]
