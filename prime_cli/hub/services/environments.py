"""One environment: detail at a version, status, stars, deletion; and copies of upstream owners."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, delete, exists, func, insert, select, update

from prime_cli.core.refs import EnvRef
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import artifacts, environments, owners, stars
from prime_cli.hub.services.access import (
    PUBLIC,
    find_by_id,
    find_environment,
    require_owner,
    require_user,
)
from prime_cli.hub.services.artifacts import forget_blobs
from prime_cli.hub.services.audit import record
from prime_cli.hub.services.evaluations.access import note_deletion
from prime_cli.hub.services.owners import UPSTREAM, find_owner, owner_id
from prime_cli.hub.services.package_index import refresh_index
from prime_cli.hub.services.serial import raise_serial
from prime_cli.hub.services.versions import find_version, metadata_of, select_latest, update_latest
from prime_cli.hub.urls import file_url, index_url
from prime_cli.wire.check_reports import CheckSummary
from prime_cli.wire.codec import decode
from prime_cli.wire.environments import (
    EnvironmentDetail,
    EnvironmentStatus,
    FinalizeReply,
    Owner,
    VersionSummary,
)

# --- Detail, status, deletion ---


def get_detail(hub: Hub, caller: Caller, ref: EnvRef) -> EnvironmentDetail:
    """Everything about one version; raises NotFound."""
    with hub.database.read() as connection:
        environment = find_environment(connection, caller, ref)
        version = find_version(connection, environment, ref.wire_version)
        return EnvironmentDetail(
            id=environment.id,
            name=environment.name,
            owner=Owner(environment.owner, environment.owner_type),
            visibility=environment.visibility,
            version_id=version.id,
            semantic_version=version.semantic_version,
            content_hash=version.content_hash,
            sha256=version.sources_sha256,
            metadata=metadata_of(version),
            latest_version=_summary(_latest(connection, environment, version)),
            package_url=_file(hub, environment, version.sources_sha256, version.sources_filename),
            stars=environment.stars,
            created_at=version.created_at,
            updated_at=environment.updated_at,
            wheel_sha256=version.wheel_sha256,
            wheel_filename=version.wheel_filename,
            wheel_size=version.wheel_size,
            has_lock=bool(version.has_lock),
            check_summary=_check(version),
            signatures=version.signatures or 0,
            runtime_hint=version.runtime_hint,
            yanked=version.yanked,
            download_object_key=version.sources_sha256,
            simple_index_url=_index(hub, environment),
            wheel_url=_wheel(hub, environment, version),
            wheel_download_url=_file(
                hub, environment, version.wheel_sha256, version.wheel_filename
            ),
        )


def get_status(hub: Hub, caller: Caller, ref: EnvRef) -> EnvironmentStatus:
    """What is published of an environment; it may be nothing."""
    with hub.database.read() as connection:
        environment = find_environment(connection, caller, ref)
        return EnvironmentStatus(
            environment.name,
            environment.description,
            environment.visibility,
            _summary(select_latest(connection, environment)),
        )


def delete_environment(hub: Hub, caller: Caller, environment_id: str) -> FinalizeReply:
    """Forget an environment with all its versions; raises NotFound or NotAllowed.

    The versions go first and the index after them, so a killed process leaves an environment
    without versions, which no list shows.
    """
    with hub.database.write() as connection:
        environment = find_by_id(connection, caller, environment_id)
        require_owner(caller, environment)
        mine = artifacts.c.environment_id == environment.id
        rows = connection.execute(delete(artifacts).where(mine).returning(artifacts.c.sha256))
        digests = {row.sha256 for row in rows}
        update_latest(hub, connection, environment.id)
        slug = f"{environment.owner}/{environment.name}"
        record(hub, connection, caller, "environment.delete", slug)
    refresh_index(hub)
    with hub.database.write() as connection:
        raise_serial(connection, environment.id)
        note_deletion(connection, environment)
        connection.execute(
            delete(environments).where(
                environments.c.id == environment.id, environments.c.latest_version_id.is_(None)
            )
        )
    forget_blobs(hub, digests)
    return FinalizeReply(success=True, message=f"Deleted {slug}")


def _check(version: Row[Any]) -> CheckSummary | None:
    found = version.check_summary
    return None if found is None else decode(found.encode(), CheckSummary)


def _index(hub: Hub, environment: Row[Any]) -> str | None:
    if hub.tree is not None:
        return hub.tree.url(environment.owner)
    if environment.visibility == PUBLIC:
        return index_url(hub.settings.public_url, environment.owner)
    return None


def _wheel(hub: Hub, environment: Row[Any], version: Row[Any]) -> str | None:
    """Where the wheel is. A served hub does not say it of a private environment: installers send
    no key, and official clients then build the source archive instead.
    """
    if hub.tree is None and environment.visibility != PUBLIC:
        return None
    return _file(hub, environment, version.wheel_sha256, version.wheel_filename)


def _file(hub: Hub, environment: Row[Any], sha256: str, filename: str) -> str:
    base = hub.settings.public_url
    return file_url(base, environment.owner, environment.name, sha256, filename)


def _summary(version: Row[Any] | None) -> VersionSummary | None:
    if version is None:
        return None
    return VersionSummary(version.semantic_version, version.content_hash, version.created_at)


def _latest(connection: Connection, environment: Row[Any], version: Row[Any]) -> Row[Any] | None:
    is_latest = version.id == environment.latest_version_id
    return version if is_latest else select_latest(connection, environment)


# --- Stars ---


def set_star(hub: Hub, caller: Caller, ref: EnvRef, *, starred: bool) -> FinalizeReply:
    """Star an environment, or take the star back; done twice, it is as done once."""
    require_user(caller)
    with hub.database.write() as connection:
        environment = find_environment(connection, caller, ref)
        by = owner_id(hub, connection, caller.slug)
        mine = stars.c.owner_id == by, stars.c.environment_id == environment.id
        if connection.execute(select(exists().where(*mine))).scalar_one() is not starred:
            row = insert(stars).values(owner_id=by, environment_id=environment.id)
            connection.execute(row if starred else delete(stars).where(*mine))
            _count(connection, [environment.id])
            raise_serial(connection, environment.id)
    return FinalizeReply(success=True)


def forget_stars(connection: Connection, owner: str) -> None:
    """Take back all stars that the owner of that id has given."""
    given = stars.c.owner_id == owner
    rows = connection.execute(delete(stars).where(given).returning(stars.c.environment_id))
    _count(connection, [row.environment_id for row in rows])


def _count(connection: Connection, ids: Sequence[str]) -> None:
    """Copy how many stars environments have to where lists read it."""
    many = select(func.count()).where(stars.c.environment_id == environments.c.id)
    for each in ids:
        connection.execute(
            update(environments)
            .where(environments.c.id == each)
            .values(stars=many.scalar_subquery())
        )


# --- Mirrored owners ---


def mirror_caller(owner: str) -> Caller:
    """Who writes what an upstream owner has published."""
    its = frozenset({owner})
    return Caller("upstream", reads=its, writes=its)


def forget_mirrored(hub: Hub, slug: str) -> None:
    """Delete what is kept of the upstream owner `slug`, if there is one.

    Anybody can have an owner of the upstream kept here by asking for an environment, and must not
    take a name away from this hub by that.
    """
    with hub.database.read() as connection:
        owner = find_owner(connection, slug)
        if owner is None or owner.type != UPSTREAM:
            return
        kept = select(environments.c.id).where(environments.c.owner_id == owner.id)
        ids = connection.execute(kept).scalars().all()
    for environment_id in ids:
        delete_environment(hub, mirror_caller(slug), environment_id)
    with hub.database.write() as connection:
        connection.execute(delete(owners).where(owners.c.id == owner.id))
