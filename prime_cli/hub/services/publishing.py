"""Publishing: declare and finalize the wheel, then declare and finalize the version.

A version exists only once it is finalized. Until then every step may be repeated, in this or
another process, and continues where the last one stopped.
"""

import contextlib
import hashlib
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_version
from sqlalchemy import Connection, Row, delete, exists, insert, or_, select

from prime_cli.core.errors import Conflict, IntegrityError, NotFound, NotLoggedIn
from prime_cli.core.paths import make_folder, storage_errors
from prime_cli.core.refs import EnvRef
from prime_cli.hub import validation
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import artifacts, keys, uploads, versions
from prime_cli.hub.services.access import find_by_id, require_publisher, taken_down
from prime_cli.hub.services.artifacts import (
    SOURCES,
    WHEEL,
    declare_artifact,
    drop_abandoned,
    drop_artifact,
    find_artifact,
    forget_blobs,
    issue_upload,
    mark_checked,
    mark_received,
    size_of_artifacts,
    size_of_known,
)
from prime_cli.hub.services.audit import record
from prime_cli.hub.services.environment_creation import apply_pending_visibility
from prime_cli.hub.services.keys import is_alive
from prime_cli.hub.services.package_index import keep_metadata, refresh_index
from prime_cli.hub.services.quotas import require_storage
from prime_cli.hub.services.readmes import render_soon
from prime_cli.hub.services.versions import next_number, update_latest
from prime_cli.hub.tokens import token_digest
from prime_cli.wire.environments import (
    ArtifactRequest,
    FinalizeReply,
    VersionTicket,
    WheelTicket,
)


def begin_wheel(
    hub: Hub, caller: Caller, environment_id: str, request: ArtifactRequest
) -> WheelTicket:
    """Where to send a wheel; no URL when its bytes are here already, and then it is finalized."""
    _check_request(request)
    validation.check_size(request.size or 0, hub.settings.limits.wheel_bytes)
    with hub.database.write() as connection:
        environment = _writable(connection, caller, environment_id)
        validation.check_wheel_filename(
            request.filename, environment.name, request.semantic_version
        )
        _require_unpublished(connection, environment, request)
        require_storage(hub, connection, environment, request.size or 0)
        abandoned = drop_abandoned(hub, connection)
        wheel = declare_artifact(hub, connection, environment, WHEEL, request)
        size = size_of_known(hub, connection, caller, request.sha256)
        if size is not None:
            mark_received(hub, connection, wheel.id, size)
        url = issue_upload(hub, connection, caller, wheel.id) if size is None else None
    forget_blobs(hub, abandoned)
    if url is None:
        finalize_wheel(hub, caller, environment_id, wheel.id)
    return WheelTicket(wheel.id, url)


def finalize_wheel(hub: Hub, caller: Caller, environment_id: str, wheel_id: str) -> FinalizeReply:
    """Check a received wheel; a refused one is deleted, so that it can be sent again."""
    with hub.database.read() as connection:
        environment = _writable(connection, caller, environment_id)
        wheel = find_artifact(connection, environment, WHEEL, wheel_id)
    _require_received(wheel)
    if wheel.checked_at is None:
        metadata = _check_wheel(hub, environment, wheel)
        with hub.database.write() as connection:
            if mark_checked(hub, connection, wheel.id, " ".join(metadata.kinds)):
                keep_metadata(connection, wheel.id, metadata)
    return FinalizeReply(success=True)


def begin_version(
    hub: Hub, caller: Caller, environment_id: str, request: ArtifactRequest
) -> VersionTicket:
    """Where to upload the source archive of a version."""
    _check_request(request)
    validation.check_size(request.size or 0, hub.settings.limits.sources_bytes)
    with hub.database.write() as connection:
        environment = _writable(connection, caller, environment_id)
        _require_unpublished(connection, environment, request)
        require_storage(hub, connection, environment, request.size or 0)
        sources = declare_artifact(hub, connection, environment, SOURCES, request)
        return VersionTicket(sources.id, issue_upload(hub, connection, caller, sources.id))


def finalize_version(
    hub: Hub, caller: Caller, environment_id: str, version_id: str
) -> FinalizeReply:
    """Publish: from here on the version is visible, to those whom its push named. Idempotent."""
    with hub.database.read() as connection:
        environment = _writable(connection, caller, environment_id)
        sources = find_artifact(connection, environment, SOURCES, version_id)
        published = _is_published(connection, version_id)
    if published:
        with hub.database.write() as connection:
            apply_pending_visibility(hub, connection, caller, environment)
    else:
        _require_received(sources)
        _check_sources(hub, sources)
        _publish(hub, caller, environment, sources)
        ref = EnvRef(environment.owner, environment.name, sources.semantic_version)
        render_soon(hub, caller, ref)
    refresh_index(hub)
    return FinalizeReply(success=True)


def _writable(connection: Connection, caller: Caller, environment_id: str) -> Row[Any]:
    environment = find_by_id(connection, caller, environment_id)
    require_publisher(caller, environment.owner, environment.name)
    return environment


def _check_request(request: ArtifactRequest) -> None:
    validation.check_digests(request)
    validation.check_version_form(request)
    validation.check_filename(request)


def _require_unpublished(
    connection: Connection, environment: Row[Any], wanted: ArtifactRequest | Row[Any]
) -> None:
    """Raise Conflict if the content or the version is already published.

    The official client looks for the words "content hash" and "already exists" to tell the two
    apart.
    """
    found = connection.execute(
        select(versions)
        .where(
            versions.c.environment_id == environment.id,
            or_(
                versions.c.content_hash == wanted.content_hash,
                versions.c.version_key == canonicalize_version(wanted.semantic_version),
            ),
        )
        .order_by((versions.c.content_hash == wanted.content_hash).desc())
    ).first()
    slug = f"{environment.owner}/{environment.name}"
    if found is None:
        return
    if found.taken_down is not None:
        raise taken_down(f"`{slug}@{found.semantic_version}`", found.taken_down)
    if found.content_hash == wanted.content_hash:
        raise Conflict(
            f"A version with this content hash already exists: {slug}@{found.semantic_version}",
            hint="nothing has changed, so there is nothing to upload",
        )
    raise Conflict(
        f"{slug}@{found.semantic_version} is already published with other content; versions do not "
        "change",
        hint="raise the version in pyproject.toml, or use `prime env upload --auto-bump`",
    )


def _require_received(artifact: Row[Any]) -> None:
    if artifact.received_at is None:
        raise Conflict(
            f"`{artifact.filename}` has not been uploaded yet",
            hint="upload again",
        )


def _check_wheel(hub: Hub, environment: Row[Any], wheel: Row[Any]) -> validation.CheckedMetadata:
    limits = hub.settings.limits.archive
    try:
        with hub.storage.open(wheel.sha256) as file:
            return validation.check_wheel_content(
                file, environment.name, wheel.semantic_version, limits=limits
            )
    except IntegrityError:
        drop_artifact(hub, wheel)
        raise


def _check_sources(hub: Hub, sources: Row[Any]) -> None:
    try:
        with hub.storage.open(sources.sha256) as file:
            validation.check_sources_content(file, limits=hub.settings.limits.archive)
    except IntegrityError:
        drop_artifact(hub, sources)
        raise


def _is_published(connection: Connection, version_id: str) -> bool:
    found = select(exists().where(versions.c.id == version_id))
    return bool(connection.execute(found).scalar_one())


def _publish(hub: Hub, caller: Caller, environment: Row[Any], sources: Row[Any]) -> None:
    """Create the version, unless another process has just done so."""
    with hub.database.write() as connection:
        if _is_published(connection, sources.id):
            return
        _require_unpublished(connection, environment, sources)
        wheel_id = _wheel_of(connection, sources)
        size = size_of_artifacts(connection, sources.id, wheel_id)
        require_storage(hub, connection, environment, size)
        connection.execute(
            insert(versions).values(
                id=sources.id,
                environment_id=environment.id,
                wheel_id=wheel_id,
                number=next_number(connection, environment.id),
                semantic_version=sources.semantic_version,
                version_key=canonicalize_version(sources.semantic_version),
                content_hash=sources.content_hash,
                created_at=hub.now(),
            )
        )
        update_latest(hub, connection, environment.id)
        apply_pending_visibility(hub, connection, caller, environment)
        slug = f"{environment.owner}/{environment.name}@{sources.semantic_version}"
        record(hub, connection, caller, "version.publish", slug, sha256=sources.sha256)


def _wheel_of(connection: Connection, sources: Row[Any]) -> str:
    """The wheel of the same content; the last one checked if there are several."""
    found = connection.execute(
        select(artifacts.c.id)
        .where(
            artifacts.c.environment_id == sources.environment_id,
            artifacts.c.kind == WHEEL,
            artifacts.c.content_hash == sources.content_hash,
            artifacts.c.semantic_version == sources.semantic_version,
            artifacts.c.checked_at.is_not(None),
        )
        .order_by(artifacts.c.checked_at.desc())
    ).scalar()
    if found is None:
        raise Conflict("The wheel of this version has not been finalized", hint="upload again")
    return str(found)


# --- Upload bodies: received in pieces, verified, then stored ---

_LEFTOVER_SECONDS = 2 * 24 * 3600


class IncomingFile:
    """The incoming bytes of `artifact`, in a temporary file that is deleted on failure.

    Accepts at most `allowed` bytes.
    """

    def __init__(
        self, token: str, artifact: Row[Any], path: Path, descriptor: int, allowed: int
    ) -> None:
        self.token = token
        self.artifact = artifact
        self.path = path
        self.size = 0
        self._file = os.fdopen(descriptor, "wb")
        self._digest = hashlib.sha256()
        self._allowed = allowed

    @property
    def sha256(self) -> str:
        """The digest of the bytes received so far."""
        return self._digest.hexdigest()

    def write(self, chunk: bytes) -> None:
        """Write the next piece; raises IntegrityError above the limit, StorageFailed."""
        self.size += len(chunk)
        validation.check_size(self.size, self._allowed)
        self._digest.update(chunk)
        with storage_errors(self.path):
            self._file.write(chunk)

    def end(self) -> None:
        """Finish after the last piece."""
        with storage_errors(self.path):
            self._file.close()

    def discard(self) -> None:
        """Remove what was written, if it still exists; any failure has been reported by then."""
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)


def begin_upload(hub: Hub, token: str) -> IncomingFile:
    """Open a file for the holder of `token`; raises NotFound for a used or expired one."""
    with hub.database.read() as connection:
        row = connection.execute(
            select(artifacts, uploads.c.key_id)
            .join(uploads, uploads.c.artifact_id == artifacts.c.id)
            .where(
                uploads.c.token_sha256 == token_digest(token),
                uploads.c.expires_at >= hub.now(),
            )
        ).one_or_none()
        if row is not None and not _may_still(hub, connection, row.key_id):
            row = None
    if row is None:
        raise NotFound(
            "Unknown, used or expired upload URL",
            hint="upload again",
        )
    limits = hub.settings.limits
    allowed = limits.wheel_bytes if row.kind == WHEEL else limits.sources_bytes
    folder = make_folder(hub.settings.data / "incoming")
    with storage_errors(folder):
        _remove_leftovers(folder)
        descriptor, path = tempfile.mkstemp(prefix=f"{row.id}.", dir=folder)
    return IncomingFile(token, row, Path(path), descriptor, allowed)


def end_upload(hub: Hub, incoming: IncomingFile) -> None:
    """Keep the bytes if they are as declared; raises IntegrityError if not.

    The same transaction uses up the URL. It may have expired during the upload: being valid at its
    start is enough. The key that it was issued to must not have ended, or NotLoggedIn is raised.
    """
    incoming.end()
    artifact = incoming.artifact
    validation.check_received(
        sha256=incoming.sha256,
        declared_sha256=artifact.sha256,
        size=incoming.size,
        declared_size=artifact.declared_size,
    )
    hub.storage.put(incoming.path, artifact.sha256)
    with hub.database.write() as connection:
        allowed = _may_still(hub, connection, artifact.key_id)
        used = uploads.c.token_sha256 == token_digest(incoming.token)
        connection.execute(delete(uploads).where(used))
        known = allowed and mark_received(hub, connection, artifact.id, incoming.size)
    if known:
        return
    forget_blobs(hub, [artifact.sha256])
    if not allowed:
        raise NotLoggedIn("The key of this upload was just revoked or has expired")
    raise NotFound("The artifact was deleted in the meantime", hint="upload again")


def _may_still(hub: Hub, connection: Connection, key_id: str | None) -> bool:
    """Whether the key that a URL was issued to is still valid; without accounts there is none."""
    if key_id is None:
        return True
    alive = select(keys.c.id).where(keys.c.id == key_id, is_alive(hub))
    return connection.execute(alive).one_or_none() is not None


def _remove_leftovers(folder: Path) -> None:
    """Delete old leftovers of killed processes; another process may be faster."""
    oldest = time.time() - _LEFTOVER_SECONDS
    for path in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_mtime < oldest:
                path.unlink()
