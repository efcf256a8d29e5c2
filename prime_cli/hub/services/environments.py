"""One environment: detail at a version, status, stars, deletion, and its files."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, Row, delete, exists, func, insert, or_, select, update

from prime_cli.core.archive.members import ArchiveMember, inspect_archive, read_member
from prime_cli.core.errors import NotAllowed, NotFound
from prime_cli.core.refs import EnvRef
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import artifacts, environments, owners, stars, versions
from prime_cli.hub.services.access import (
    PUBLIC,
    UPSTREAM,
    find_any,
    find_by_id,
    find_environment,
    find_owner,
    owner_id,
    require_owner,
    require_user,
    require_valid_key,
    taken_down,
)
from prime_cli.hub.services.artifacts import forget_blobs
from prime_cli.hub.services.audit import raise_serial, record
from prime_cli.hub.services.evaluations.queries import note_deletion
from prime_cli.hub.services.evaluations.standings import count_evaluations
from prime_cli.hub.services.package_index import refresh_index
from prime_cli.hub.services.versions import find_version, metadata_of, select_latest, update_latest
from prime_cli.hub.urls import file_url, index_url
from prime_cli.wire.check_reports import CheckSummary
from prime_cli.wire.codec import decode
from prime_cli.wire.environment_sources import InspectEntry, Inspection, InspectQuery
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
        return _describe(hub, connection, caller, ref)


def get_page_detail(hub: Hub, caller: Caller, ref: EnvRef) -> EnvironmentDetail:
    """The same with the number of evaluations that the caller sees; raises NotFound."""
    with hub.database.read() as connection:
        detail = _describe(hub, connection, caller, ref)
        counts = count_evaluations(connection, caller, [detail.id])
    return msgspec.structs.replace(detail, evaluations=counts[detail.id])


def _describe(hub: Hub, connection: Connection, caller: Caller, ref: EnvRef) -> EnvironmentDetail:
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
        downloads=environment.downloads,
        kinds=(version.kinds or "").split(),
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
        wheel_download_url=_file(hub, environment, version.wheel_sha256, version.wheel_filename),
    )


def get_status(hub: Hub, caller: Caller, ref: EnvRef) -> EnvironmentStatus:
    """The published state of an environment; it may be nothing."""
    with hub.database.read() as connection:
        environment = find_environment(connection, caller, ref)
        return EnvironmentStatus(
            environment.name,
            environment.description,
            environment.visibility,
            _summary(select_latest(connection, environment)),
        )


def delete_environment(hub: Hub, caller: Caller, environment_id: str) -> FinalizeReply:
    """Delete an environment with all its versions; raises NotFound or NotAllowed.

    Raises TakenDown if it or a version of it is: deleted, that could be published again.
    """

    def find(connection: Connection) -> Row[Any]:
        environment = find_by_id(connection, caller, environment_id)
        require_owner(caller, environment)
        down = versions.c.environment_id == environment.id, versions.c.taken_down.is_not(None)
        version = connection.execute(select(versions).where(*down)).first()
        if version is not None:
            slug = f"{environment.owner}/{environment.name}"
            raise taken_down(f"`{slug}@{version.semantic_version}`", version.taken_down)
        return environment

    return _delete(hub, caller, find)


def _delete(hub: Hub, caller: Caller, find: Callable[[Connection], Row[Any]]) -> FinalizeReply:
    """Delete the environment that `find` returns.

    The versions go first and the index after them, so a killed process leaves an environment
    without versions, which no list shows.
    """
    with hub.database.write() as connection:
        environment = find(connection)
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
    """Star or unstar an environment; idempotent. Raises NotAllowed for a key that may not write."""
    require_user(caller)
    with hub.database.write() as connection:
        environment = find_environment(connection, caller, ref)
        if caller.slug not in caller.writes:
            raise NotAllowed(
                f"This key may not change the stars of `{caller.slug}`",
                hint="use a key with the scope `write` that is not limited to another owner",
            )
        by = owner_id(hub, connection, caller.slug)
        mine = stars.c.owner_id == by, stars.c.environment_id == environment.id
        if connection.execute(select(exists().where(*mine))).scalar_one() is not starred:
            row = insert(stars).values(owner_id=by, environment_id=environment.id)
            connection.execute(row if starred else delete(stars).where(*mine))
            _count(connection, [environment.id])
            raise_serial(connection, environment.id)
    return FinalizeReply(success=True)


def forget_stars(connection: Connection, owner: str) -> None:
    """Remove all stars given by the owner of that id."""
    given = stars.c.owner_id == owner
    rows = connection.execute(delete(stars).where(given).returning(stars.c.environment_id))
    _count(connection, [row.environment_id for row in rows])


def _count(connection: Connection, ids: Sequence[str]) -> None:
    """Copy the star counts of environments to where lists read them."""
    many = select(func.count()).where(stars.c.environment_id == environments.c.id)
    for each in ids:
        connection.execute(
            update(environments)
            .where(environments.c.id == each)
            .values(stars=many.scalar_subquery())
        )


# --- Mirrored owners ---


def mirror_caller(owner: str) -> Caller:
    """The caller that writes what an upstream owner has published."""
    its = frozenset({owner})
    return Caller("upstream", reads=its, writes=its)


def forget_mirrored(hub: Hub, slug: str) -> None:
    """Delete everything kept of the upstream owner `slug`, if any.

    Anybody can cause an upstream owner to be kept here by requesting an environment, and must not
    thereby take a name away from this hub.
    """
    with hub.database.read() as connection:
        owner = find_owner(connection, slug)
        if owner is None or owner.type != UPSTREAM:
            return
        kept = select(environments.c.name).where(environments.c.owner_id == owner.id)
        names = connection.execute(kept).scalars().all()
    for name in names:
        # Also what was taken down: nothing of an upstream comes back under the name of a user here.
        _delete(hub, mirror_caller(slug), partial(find_any, ref=EnvRef(slug, name)))
    with hub.database.write() as connection:
        connection.execute(delete(owners).where(owners.c.id == owner.id))


# --- Published files: wheels and source archives for download, and what is in the archives ---

# --- Downloads ---


class PublishedFile(Struct, frozen=True):
    """A blob, and its name when downloaded."""

    sha256: str
    filename: str


def find_file(
    hub: Hub, caller: Caller, ref: EnvRef, *, sha256: str, filename: str
) -> PublishedFile:
    """A file of any finalised version; raises NotFound."""
    published = or_(versions.c.wheel_id == artifacts.c.id, versions.c.id == artifacts.c.id)
    with hub.database.read() as connection:
        environment = find_environment(connection, caller, ref)
        found = connection.execute(
            select(versions.c.taken_down)
            .join(artifacts, published)
            .where(
                artifacts.c.environment_id == environment.id,
                artifacts.c.sha256 == sha256,
                artifacts.c.filename == filename,
            )
            .order_by(versions.c.taken_down.is_not(None))
        ).first()
    if found is None:
        require_valid_key(caller)
        raise NotFound(f"`{filename}` not found")
    if found.taken_down is not None:
        raise taken_down(f"`{filename}` of {ref.owner}/{ref.name}", found.taken_down)
    return PublishedFile(sha256, filename)


def find_sources(hub: Hub, caller: Caller, ref: EnvRef) -> PublishedFile:
    """The source archive of a version; raises NotFound."""
    with hub.database.read() as connection:
        environment = find_environment(connection, caller, ref)
        version = find_version(connection, environment, ref.wire_version)
    return PublishedFile(version.sources_sha256, version.sources_filename)


# --- Inspection ---


def inspect_sources(hub: Hub, caller: Caller, ref: EnvRef, query: InspectQuery) -> Inspection:
    """The entries of a folder, or the start of a file; raises NotFound."""
    path = query.path.strip("/")
    with hub.database.read() as connection:
        environment = find_environment(connection, caller, ref)
        version = find_version(connection, environment, ref.wire_version)
    limits = hub.settings.limits.archive
    with hub.storage.open(version.sources_sha256) as file:
        members = inspect_archive(file, limits=limits)
        if any(member.path == path for member in members):
            file.seek(0)
            found = read_member(file, path, max_bytes=query.max_bytes, limits=limits)
            return Inspection(
                kind="file",
                path=path,
                version_id=version.id,
                content=found.content.decode("utf-8", errors="replace"),
                truncated=found.truncated,
                total_bytes=found.total_bytes,
            )
    entries = list_folder(members, path)
    if not entries:
        slug = f"{environment.owner}/{environment.name}"
        raise NotFound(
            f"There is no `{path}` in `{slug}`",
            hint=f"list the files with `prime env inspect {slug}`",
        )
    return Inspection(kind="directory", path=path, version_id=version.id, entries=entries)


def list_folder(members: list[ArchiveMember], folder: str) -> list[InspectEntry]:
    """The direct entries of `folder` ("" is the root), folders first, each by name."""
    prefix = f"{folder}/" if folder else ""
    files, folders = [], set()
    for member in members:
        if member.path.startswith(prefix):
            name, slash, _ = member.path[len(prefix) :].partition("/")
            if slash:
                folders.add(name)
            else:
                files.append(_file_entry(name, member))
    found = [InspectEntry(name, prefix + name, is_directory=True) for name in sorted(folders)]
    return found + sorted(files, key=lambda entry: entry.name)


def _file_entry(name: str, member: ArchiveMember) -> InspectEntry:
    modified = datetime.fromtimestamp(member.modified, UTC).isoformat()
    return InspectEntry(
        name, member.path, is_directory=False, size=member.size, modified_at=modified
    )
