"""Published files: wheels and source archives for download, and what is in the archives."""

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import exists, or_, select

from prime_cli.archive.members import Member
from prime_cli.archive.unpack import inspect_archive, read_member
from prime_cli.core.errors import NotFound
from prime_cli.core.refs import EnvRef
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import artifacts, versions
from prime_cli.hub.services.access import find_environment
from prime_cli.hub.services.versions import find_version
from prime_cli.wire.environments import InspectEntry, Inspection, InspectQuery

# --- Downloads ---


@dataclass(frozen=True)
class PublishedFile:
    """A blob, and the name it is downloaded under."""

    sha256: str
    filename: str


def find_file(
    hub: Hub, caller: Caller, ref: EnvRef, *, sha256: str, filename: str
) -> PublishedFile:
    """A file of any finalised version; raises NotFound."""
    published = exists().where(
        or_(versions.c.wheel_id == artifacts.c.id, versions.c.id == artifacts.c.id)
    )
    with hub.database.read() as connection:
        environment = find_environment(connection, caller, ref)
        found = connection.execute(
            select(artifacts.c.id).where(
                artifacts.c.environment_id == environment.id,
                artifacts.c.sha256 == sha256,
                artifacts.c.filename == filename,
                published,
            )
        ).first()
    if found is None:
        raise NotFound(f"`{filename}` not found")
    return PublishedFile(sha256, filename)


def find_sources(hub: Hub, caller: Caller, ref: EnvRef) -> PublishedFile:
    """The source archive of a version; raises NotFound."""
    with hub.database.read() as connection:
        environment = find_environment(connection, caller, ref)
        version = find_version(connection, environment, ref.wire_version)
    return PublishedFile(version.sources_sha256, version.sources_filename)


# --- Inspection ---


def inspect_sources(hub: Hub, caller: Caller, ref: EnvRef, query: InspectQuery) -> Inspection:
    """The entries of a folder, or the beginning of a file; raises NotFound."""
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


def list_folder(members: list[Member], folder: str) -> list[InspectEntry]:
    """What lies directly in `folder` ("" is the root), folders first, each by name."""
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


def _file_entry(name: str, member: Member) -> InspectEntry:
    modified = datetime.fromtimestamp(member.modified, UTC).isoformat()
    return InspectEntry(
        name, member.path, is_directory=False, size=member.size, modified_at=modified
    )
