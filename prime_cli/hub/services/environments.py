"""One environment: its detail at a version, its status, its end."""

from typing import Any

from sqlalchemy import Connection, Row, delete

from prime_cli.core.refs import EnvRef
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import artifacts, environments
from prime_cli.hub.services.access import (
    PUBLIC,
    find_by_id,
    find_environment,
    require_owner,
)
from prime_cli.hub.services.audit import record
from prime_cli.hub.services.blobs import forget_blobs
from prime_cli.hub.services.evaluations.access import note_deletion
from prime_cli.hub.services.index import refresh_index
from prime_cli.hub.services.serial import raise_serial
from prime_cli.hub.services.versions import (
    find_version,
    metadata_of,
    select_latest,
    update_latest,
)
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
