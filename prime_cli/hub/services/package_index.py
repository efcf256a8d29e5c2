"""The package index's lists, its METADATA (PEP 658), and the files of an embedded hub."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from packaging.version import Version
from sqlalchemy import Connection, Row, Select, bindparam, delete, exists, insert, select, update

from prime_cli.core.digests import digest_bytes
from prime_cli.core.errors import NotFound
from prime_cli.core.refs import EnvRef
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import artifacts, environments, owners, versions, wheel_metadata
from prime_cli.hub.index_pages import IndexedWheel
from prime_cli.hub.services.access import (
    find_visible,
    require_valid_key,
    select_environments,
    visible_to,
)
from prime_cli.hub.urls import file_url, path_of
from prime_cli.hub.validation import CheckedMetadata
from prime_cli.wire.codec import decode
from prime_cli.wire.environments import EnvironmentMetadata, UpstreamWheel


def list_projects(hub: Hub, caller: Caller, owner: str) -> list[str]:
    """The PEP 503 names of an owner's packages; raises NotFound if there are none."""
    with hub.database.read() as connection:
        rows = connection.execute(
            select(environments.c.normalized_name)
            .join(owners, environments.c.owner_id == owners.c.id)
            .where(
                owners.c.slug == owner,
                environments.c.latest_version_id.is_not(None),
                environments.c.taken_down.is_(None),
                visible_to(caller),
            )
            .order_by(environments.c.normalized_name)
        )
        names = [row.normalized_name for row in rows]
    if not names:
        require_valid_key(caller)
        raise NotFound(f"No packages of `{owner}` on this hub")
    return names


def list_wheels(hub: Hub, caller: Caller, ref: EnvRef) -> list[IndexedWheel]:
    """The wheels of all versions, newest first, under URLs without origin; raises NotFound."""
    with hub.database.read() as connection:
        # Installers ask for every dependency, so do not search for similar names here.
        environment = find_visible(connection, caller, ref)
        if environment is None or environment.taken_down is not None:
            require_valid_key(caller)
            raise NotFound(f"No package `{ref.name}` of `{ref.owner}` on this hub")
        rows = _select_wheels(connection, environment.id)
    base = path_of(hub.settings.public_url)
    return [
        _indexed(row, file_url(base, environment.owner, environment.name, row.sha256, row.filename))
        for row in rows
    ]


def wheels_to_fetch(
    hub: Hub,
    caller: Caller,
    ref: EnvRef,
    here: Sequence[IndexedWheel],
    there: Mapping[Version, UpstreamWheel],
) -> list[IndexedWheel]:
    """The wheels of an upstream whose versions are not here, under this hub's own URLs.

    Those that were taken down here are not among them.
    """
    known = {Version(wheel.version) for wheel in here}
    known |= {Version(row.semantic_version) for row in find_taken_down(hub, caller, ref)}
    base = path_of(hub.settings.public_url)
    return [
        IndexedWheel(
            filename=wheel.filename,
            url=file_url(base, ref.owner, ref.name, wheel.sha256, wheel.filename),
            sha256=wheel.sha256,
            size=None,
            version=str(version),
            requires_python=wheel.requires_python,
            uploaded_at="",
            yanked=wheel.yanked,
        )
        for version, wheel in there.items()
        if version not in known
    ]


def find_taken_down(hub: Hub, caller: Caller, ref: EnvRef) -> Sequence[Row[Any]]:
    """The versions of an environment that were taken down; none of one that is not here."""
    with hub.database.read() as connection:
        environment = find_visible(connection, caller, ref)
        if environment is None:
            return []
        its = versions.c.environment_id == environment.id, versions.c.taken_down.is_not(None)
        return connection.execute(select(versions).where(*its)).all()


def refresh_index(hub: Hub) -> None:
    """Write the index files of every environment whose versions changed since.

    The mark is set in the transaction that publishes and cleared here, so that the next process
    completes what a killed one left undone.
    """
    tree = hub.tree
    if tree is None or not _any_stale(hub):
        return
    with hub.database.write() as connection:
        stale = connection.execute(
            select_environments().where(environments.c.index_stale.is_(True))
        ).all()
        for row in stale:
            wheels = [
                _indexed(wheel, wheel.filename) for wheel in _select_wheels(connection, row.id)
            ]
            metadata = select_metadata(connection, row.id)
            tree.write(row.owner, row.normalized_name, wheels, metadata)
        connection.execute(
            update(environments)
            .where(environments.c.index_stale.is_(True))
            .values(index_stale=False)
        )


def _any_stale(hub: Hub) -> bool:
    with hub.database.read() as connection:
        stale = select(exists().where(environments.c.index_stale.is_(True)))
        return bool(connection.execute(stale).scalar_one())


def _select_wheels(connection: Connection, environment_id: str) -> list[Row[Any]]:
    return list(connection.execute(_wheels_of(), {"of": environment_id}))


@cache
def _wheels_of() -> Select[Any]:
    """Cached, since building it takes longer than running it."""
    return (
        select(
            artifacts.c.filename,
            artifacts.c.sha256,
            artifacts.c.size,
            artifacts.c.metadata,
            versions.c.semantic_version,
            versions.c.yanked,
            versions.c.created_at.label("published_at"),
            wheel_metadata.c.sha256.label("metadata_sha256"),
            wheel_metadata.c.requires_python,
        )
        .join(versions, versions.c.wheel_id == artifacts.c.id)
        .outerjoin(wheel_metadata, wheel_metadata.c.wheel_id == artifacts.c.id)
        .where(versions.c.environment_id == bindparam("of"), versions.c.taken_down.is_(None))
        .order_by(versions.c.number.desc())
    )


def _indexed(row: Row[Any], url: str) -> IndexedWheel:
    requires_python = row.requires_python
    if requires_python is None:
        # Published by a release that stored no METADATA: use the publisher's statement.
        metadata = decode(row.metadata.encode(), EnvironmentMetadata)
        requires_python = metadata.python_requires
    return IndexedWheel(
        filename=row.filename,
        url=url,
        sha256=row.sha256,
        size=row.size,
        version=row.semantic_version,
        requires_python=requires_python,
        uploaded_at=row.published_at,
        metadata_sha256=row.metadata_sha256,
        yanked=row.yanked,
    )


# --- METADATA ---


def keep_metadata(connection: Connection, wheel_id: str, found: CheckedMetadata) -> None:
    """Store the METADATA of a wheel that has passed the checks."""
    connection.execute(delete(wheel_metadata).where(wheel_metadata.c.wheel_id == wheel_id))
    connection.execute(
        insert(wheel_metadata).values(
            wheel_id=wheel_id,
            sha256=digest_bytes(found.body),
            requires_python=found.requires_python,
            body=found.body,
        )
    )


def select_metadata(connection: Connection, environment_id: str) -> dict[str, bytes]:
    """METADATA of every published wheel of an environment, by the wheel's filename."""
    rows = connection.execute(
        select(artifacts.c.filename, wheel_metadata.c.body)
        .join(artifacts, artifacts.c.id == wheel_metadata.c.wheel_id)
        .join(versions, versions.c.wheel_id == artifacts.c.id)
        .where(versions.c.environment_id == environment_id, versions.c.taken_down.is_(None))
    )
    return {row.filename: bytes(row.body) for row in rows}


def get_metadata(hub: Hub, caller: Caller, ref: EnvRef, *, sha256: str, filename: str) -> bytes:
    """METADATA of the wheel with that digest and name, unchanged; raises NotFound."""
    with hub.database.read() as connection:
        environment = find_visible(connection, caller, ref)
        body = None
        if environment is not None and environment.taken_down is None:
            body = connection.execute(
                select(wheel_metadata.c.body)
                .join(artifacts, artifacts.c.id == wheel_metadata.c.wheel_id)
                .join(versions, versions.c.wheel_id == artifacts.c.id)
                .where(
                    artifacts.c.environment_id == environment.id,
                    artifacts.c.sha256 == sha256,
                    artifacts.c.filename == filename,
                    versions.c.taken_down.is_(None),
                )
            ).scalar()
    if body is None:
        require_valid_key(caller)
        raise NotFound(f"No metadata for `{filename}` here")
    return bytes(body)
