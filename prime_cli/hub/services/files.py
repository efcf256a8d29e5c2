"""Published wheels and source archives, for download."""

from dataclasses import dataclass

from sqlalchemy import exists, or_, select

from prime_cli.core.errors import NotFound
from prime_cli.core.refs import EnvRef
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import artifacts, versions
from prime_cli.hub.services.access import find_environment
from prime_cli.hub.services.versions import find_version


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
