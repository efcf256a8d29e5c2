"""Finalised versions of environments."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from packaging.utils import canonicalize_version
from packaging.version import Version
from sqlalchemy import (
    Connection,
    Row,
    Select,
    bindparam,
    delete,
    func,
    or_,
    select,
    update,
)

from prime_cli.core.errors import Conflict, NotFound, UsageError
from prime_cli.core.refs import LATEST, EnvRef
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import (
    artifacts,
    environments,
    locks,
    owners,
    reports,
    signatures,
    tags,
    versions,
)
from prime_cli.hub.search_index import reindex
from prime_cli.hub.services.access import (
    UPSTREAM,
    find_environment,
    require_owner,
    taken_down,
)
from prime_cli.hub.services.artifacts import forget_blobs, mark_published
from prime_cli.hub.services.audit import raise_serial, record
from prime_cli.hub.services.package_index import find_taken_down, refresh_index
from prime_cli.wire.codec import decode
from prime_cli.wire.environments import (
    EnvironmentMetadata,
    FinalizeReply,
    VersionItem,
    VersionList,
    YankReply,
)

# --- Versions ---

SHORTEST_PREFIX = 8
"""The shortest prefix of a content hash that names a version; official lists show 8."""

wheels = artifacts.alias("wheels")
sources = artifacts.alias("sources")


@cache
def select_versions() -> Select[Any]:
    """Rows of `versions` with the files of their wheel and source archive."""
    return (
        select(
            versions,
            wheels.c.filename.label("wheel_filename"),
            wheels.c.sha256.label("wheel_sha256"),
            wheels.c.size.label("wheel_size"),
            wheels.c.metadata.label("metadata"),
            wheels.c.runtime_hint.label("runtime_hint"),
            wheels.c.kinds.label("kinds"),
            sources.c.filename.label("sources_filename"),
            sources.c.sha256.label("sources_sha256"),
            locks.c.version_id.is_not(None).label("has_lock"),
            reports.c.summary.label("check_summary"),
            signatures.c.number.label("signatures"),
        )
        .join(wheels, versions.c.wheel_id == wheels.c.id)
        .join(sources, versions.c.id == sources.c.id)
        .outerjoin(locks, locks.c.version_id == versions.c.id)
        .outerjoin(reports, reports.c.version_id == versions.c.id)
        .outerjoin(signatures, signatures.c.version_id == versions.c.id)
    )


def find_version(connection: Connection, environment: Row[Any], wanted: str) -> Row[Any]:
    """The version that `wanted` names: `latest`, a version, or a content hash.

    Raises NotFound, TakenDown.
    """
    row = select_named(connection, environment, wanted)
    if row.taken_down is not None:
        slug = f"{environment.owner}/{environment.name}"
        raise taken_down(f"`{slug}@{row.semantic_version}`", row.taken_down)
    return row


def select_named(connection: Connection, environment: Row[Any], wanted: str) -> Row[Any]:
    """As `find_version`, also if it was taken down."""
    if wanted == LATEST:
        values = {"wanted_id": environment.latest_version_id}
        row = connection.execute(_select_by_id(), values).first()
    else:
        key = canonicalize_version(wanted)
        values = {"of": environment.id, "key": key, "hash": wanted}
        row = connection.execute(_select_by_name(), values).first()
    if row is None:
        slug = f"{environment.owner}/{environment.name}"
        if environment.latest_version_id is None:
            raise NotFound(f"Environment `{slug}` not found: nothing is published yet")
        raise NotFound(
            f"Version `{wanted}` of `{slug}` not found",
            hint=f"see the versions with `prime env versions {slug}`",
        )
    return row


@cache
def _select_by_id() -> Select[Any]:
    """Cached, as most requests need it; so is the next."""
    return select_versions().where(versions.c.id == bindparam("wanted_id"))


@cache
def _select_by_name() -> Select[Any]:
    named = or_(
        versions.c.version_key == bindparam("key"), versions.c.content_hash == bindparam("hash")
    )
    return select_versions().where(versions.c.environment_id == bindparam("of"), named)


def select_latest(connection: Connection, environment: Row[Any]) -> Row[Any] | None:
    """The version that `latest` names, or None while nothing is published."""
    return connection.execute(
        select(versions).where(versions.c.id == environment.latest_version_id)
    ).one_or_none()


def metadata_of(version: Row[Any]) -> EnvironmentMetadata:
    """The publisher's metadata of the wheel."""
    return decode(version.metadata.encode(), EnvironmentMetadata)


def list_versions(hub: Hub, caller: Caller, ref: EnvRef) -> VersionList:
    """All versions, newest first; each has two artefacts.

    Those that were taken down are listed for their owner alone, with the reason.
    """
    with hub.database.read() as connection:
        environment = find_environment(connection, caller, ref)
        of = versions.c.environment_id == environment.id
        if environment.owner not in caller.reads:
            of &= versions.c.taken_down.is_(None)
        rows = connection.execute(
            select(versions, wheels.c.sha256.label("wheel_sha256"))
            .join(wheels, versions.c.wheel_id == wheels.c.id)
            .where(of)
            .order_by(versions.c.number.desc())
        )
        return VersionList(
            [
                VersionItem(
                    row.semantic_version,
                    row.created_at,
                    row.content_hash,
                    size=2,
                    yanked=row.yanked if row.taken_down is None else _in_list(row.taken_down),
                    wheel_sha256=row.wheel_sha256,
                )
                for row in rows
            ]
        )


def list_mirrored(
    hub: Hub, caller: Caller, ref: EnvRef, there: Sequence[VersionItem]
) -> VersionList:
    """The versions that an upstream lists, without those that were taken down here."""
    down = {row.content_hash for row in find_taken_down(hub, caller, ref)}
    return VersionList([item for item in there if item.sha256 not in down])


def _in_list(reason: str) -> str:
    """For clients, which know why installers skip a version."""
    return f"taken down: {reason}"


def delete_version(hub: Hub, caller: Caller, ref: EnvRef, content_hash: str) -> FinalizeReply:
    """Delete the version with that content hash, or the only one whose hash begins with it."""
    with hub.database.write() as connection:
        environment = find_environment(connection, caller, ref)
        require_owner(caller, environment)
        version = _by_prefix(connection, environment, content_hash)
        rows = connection.execute(
            delete(artifacts)
            .where(
                artifacts.c.environment_id == environment.id,
                artifacts.c.content_hash == version.content_hash,
            )
            .returning(artifacts.c.sha256)
        )
        digests = {row.sha256 for row in rows}
        update_latest(hub, connection, environment.id)
        deleted = f"{environment.owner}/{environment.name}@{version.semantic_version}"
        record(hub, connection, caller, "version.delete", deleted)
    refresh_index(hub)
    forget_blobs(hub, digests)
    return FinalizeReply(success=True, message=f"Deleted {ref.slug}@{version.semantic_version}")


def update_latest(hub: Hub, connection: Connection, environment_id: str) -> None:
    """Copy what lists show of the latest version to the environment; marks its index stale.

    Called after every change of the versions.
    """
    latest = _choose_latest(connection, environment_id)
    metadata = metadata_of(latest) if latest else EnvironmentMetadata()
    connection.execute(
        update(environments)
        .where(environments.c.id == environment_id)
        .values(
            latest_version_id=latest.id if latest else None,
            description=metadata.description,
            kinds=(latest.kinds if latest else None) or "",
            index_stale=True,
            updated_at=hub.now(),
        )
    )
    connection.execute(delete(tags).where(tags.c.environment_id == environment_id))
    for tag in {tag.lower() for tag in metadata.tags}:
        connection.execute(tags.insert().values(environment_id=environment_id, tag=tag))
    mark_published(connection, environment_id)
    reindex(connection, environment_id)
    raise_serial(connection, environment_id)


def _choose_latest(connection: Connection, environment_id: str) -> Row[Any] | None:
    """The version that `latest` names, by the rule of package indexes; None without versions.

    That is the highest one by PEP 440; a pre-release only where there is nothing else, and a yanked
    version after all others. A mirrored environment keeps the order of its upstream.
    """
    found = connection.execute(
        select(versions.c.id, versions.c.semantic_version, versions.c.yanked, versions.c.number)
        .add_columns(owners.c.type.label("owner_type"))
        .join(environments, versions.c.environment_id == environments.c.id)
        .join(owners, environments.c.owner_id == owners.c.id)
        .where(versions.c.environment_id == environment_id, versions.c.taken_down.is_(None))
    ).all()
    if not found:
        return None
    chosen = max(found, key=_by_number if found[0].owner_type == UPSTREAM else _by_version)
    return connection.execute(_select_by_id(), {"wanted_id": chosen.id}).one()


def _by_number(row: Row[Any]) -> tuple[Any, ...]:
    return row.yanked is None, row.number


def _by_version(row: Row[Any]) -> tuple[Any, ...]:
    version = Version(row.semantic_version)
    return row.yanked is None, not version.is_prerelease, version


def next_number(connection: Connection, environment_id: str) -> int:
    """The number of the next version to be finalised: the newest's plus one."""
    highest = connection.execute(
        select(func.max(versions.c.number)).where(versions.c.environment_id == environment_id)
    ).scalar_one()
    return (highest or 0) + 1


def _by_prefix(connection: Connection, environment: Row[Any], prefix: str) -> Row[Any]:
    if len(prefix) < SHORTEST_PREFIX:
        raise UsageError(
            f"`{prefix}` is too short: use at least {SHORTEST_PREFIX} characters of the hash",
            hint=f"see the hashes with `prime env versions {environment.owner}/{environment.name}`",
        )
    rows = connection.execute(
        select(versions)
        .where(
            versions.c.environment_id == environment.id,
            versions.c.content_hash.startswith(prefix, autoescape=True),
        )
        .limit(2)
    ).all()
    if not rows:
        raise NotFound(f"Version `{prefix}` not found")
    if len(rows) > 1:
        raise Conflict(f"`{prefix}` matches several content hashes", hint="use more characters")
    if rows[0].taken_down is not None:
        # Deleted, it could be published again.
        slug = f"{environment.owner}/{environment.name}"
        raise taken_down(f"`{slug}@{rows[0].semantic_version}`", rows[0].taken_down)
    return rows[0]


# --- Yanking ---

LONGEST_REASON = 1000


def yank_version(hub: Hub, caller: Caller, ref: EnvRef, reason: str) -> YankReply:
    """Mark a version, or change the reason; raises NotFound, NotAllowed, UsageError.

    `latest` passes it over, unless all versions are yanked.
    """
    if len(reason) > LONGEST_REASON:
        raise UsageError(f"The reason has more than {LONGEST_REASON} characters")
    return _set(hub, caller, ref, reason, "version.yank")


def unyank_version(hub: Hub, caller: Caller, ref: EnvRef) -> YankReply:
    """Remove the mark; an unmarked version is not an error."""
    return _set(hub, caller, ref, None, "version.unyank")


def _set(hub: Hub, caller: Caller, ref: EnvRef, reason: str | None, action: str) -> YankReply:
    with hub.database.write() as connection:
        environment = find_environment(connection, caller, ref)
        require_owner(caller, environment)
        version = find_version(connection, environment, ref.wire_version)
        connection.execute(
            update(versions).where(versions.c.id == version.id).values(yanked=reason)
        )
        update_latest(hub, connection, environment.id)
        target = f"{ref.slug}@{version.semantic_version}"
        record(hub, connection, caller, action, target, reason=reason)
    refresh_index(hub)
    return YankReply(version.semantic_version, reason)
