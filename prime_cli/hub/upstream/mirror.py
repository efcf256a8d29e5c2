"""Publish here what an upstream has published, through the same steps and checks."""

import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from prime_cli.core.digests import digest_file
from prime_cli.core.errors import IntegrityError, PrimeError
from prime_cli.core.paths import make_folder, storage_errors
from prime_cli.core.refs import EnvRef, normalize_name
from prime_cli.hub.context import Hub
from prime_cli.hub.db.tables import owners, versions
from prime_cli.hub.services.access import (
    PUBLIC,
    UPSTREAM,
    find_environment,
    find_owner,
    find_visible,
)
from prime_cli.hub.services.artifacts import mark_received
from prime_cli.hub.services.audit import record
from prime_cli.hub.services.environment_creation import create_environment
from prime_cli.hub.services.environments import mirror_caller
from prime_cli.hub.services.publishing import (
    begin_version,
    begin_wheel,
    finalize_version,
    finalize_wheel,
)
from prime_cli.hub.services.version_documents import put_document
from prime_cli.hub.services.versions import update_latest
from prime_cli.hub.tokens import new_id
from prime_cli.hub.upstream import UpstreamHub
from prime_cli.wire.environments import ArtifactRequest, EnvironmentDetail, VersionItem
from prime_cli.wire.version_documents import CHECK_REPORT, LOCK, SIGNATURES, D, DocumentKind


def mirror(hub: Hub, upstream: UpstreamHub, ref: EnvRef) -> list[VersionItem]:
    """Mirror the upstream version that `ref` means; `latest` here becomes what it is there.

    Returns all versions there, newest first. Raises NotFound, Unreachable, and what publishing
    raises for refused ones.
    """
    detail = upstream.detail(ref)
    _check_identity(ref, detail)
    found = EnvRef(ref.owner, detail.name, detail.semantic_version)
    if not _is_here(hub, found, detail):
        _publish(hub, upstream, found, detail)
    newest_first = upstream.versions(found)
    _put_in_order(hub, found, newest_first)
    return newest_first


def _check_identity(ref: EnvRef, detail: EnvironmentDetail) -> None:
    """An upstream that returns something else must not publish it under that name."""
    named = detail.owner.name == ref.owner
    if not (named and normalize_name(detail.name) == normalize_name(ref.name)):
        raise IntegrityError(
            f"The upstream answered with `{detail.owner.name}/{detail.name}` for `{ref.slug}`"
        )
    if detail.semantic_version is None or detail.content_hash is None:
        raise IntegrityError(f"The upstream does not say which version of `{ref.slug}` it has")
    if detail.visibility != PUBLIC:
        raise IntegrityError(f"The upstream lists `{ref.slug}`, which is private, publicly")


def _is_here(hub: Hub, ref: EnvRef, detail: EnvironmentDetail) -> bool:
    with hub.database.read() as connection:
        environment = find_visible(connection, mirror_caller(ref.owner), ref)
        if environment is None:
            return False
        same = select(versions.c.id).where(
            versions.c.environment_id == environment.id,
            versions.c.content_hash == detail.content_hash,
        )
        return connection.execute(same).first() is not None


def _publish(hub: Hub, upstream: UpstreamHub, ref: EnvRef, detail: EnvironmentDetail) -> None:
    limits = hub.settings.limits
    folder = make_folder(hub.settings.data / "incoming")
    with storage_errors(folder), tempfile.TemporaryDirectory(dir=folder, prefix="up.") as scratch:
        folder = Path(scratch)
        wheel = upstream.fetch_wheel(detail, folder, limits.wheel_bytes)
        sources = upstream.fetch_sources(detail, folder, limits.sources_bytes)
        environment = _ensure_environment(hub, ref)
        caller = mirror_caller(ref.owner)
        ticket = begin_wheel(hub, caller, environment.id, _request(detail, wheel))
        if ticket.upload_url is not None:
            _receive(hub, ticket.wheel_id, wheel)
            finalize_wheel(hub, caller, environment.id, ticket.wheel_id)
        begun = begin_version(hub, caller, environment.id, _request(detail, sources))
        _receive(hub, begun.version_id, sources)
        finalize_version(hub, caller, environment.id, begun.version_id)
    lock = upstream.document(ref, LOCK) if detail.has_lock else None
    if lock is not None:
        put_document(hub, caller, ref, LOCK, lock)
    # If one of these is refused or missing, the version is still mirrored.
    if detail.check_summary is not None:
        _copy(hub, upstream, ref, CHECK_REPORT)
    if detail.signatures:
        _copy(hub, upstream, ref, SIGNATURES)


def _copy(hub: Hub, upstream: UpstreamHub, ref: EnvRef, kind: DocumentKind[D]) -> None:
    with suppress(PrimeError):
        document = upstream.document(ref, kind)
        if document is not None:
            put_document(hub, mirror_caller(ref.owner), ref, kind, document)


def _request(detail: EnvironmentDetail, file: Path) -> ArtifactRequest:
    return ArtifactRequest(
        content_hash=detail.content_hash or "",
        filename=file.name,
        sha256=digest_file(file),
        semantic_version=detail.semantic_version or "",
        metadata=detail.metadata,
        size=file.stat().st_size,
        runtime_hint=detail.runtime_hint,
    )


def _receive(hub: Hub, artifact_id: str, file: Path) -> None:
    size, digest = file.stat().st_size, digest_file(file)
    hub.storage.put(file, digest)
    with hub.database.write() as connection:
        mark_received(hub, connection, artifact_id, size)


def _ensure_environment(hub: Hub, ref: EnvRef) -> Row[Any]:
    caller = mirror_caller(ref.owner)
    with hub.database.write() as connection:
        if find_owner(connection, ref.owner) is None:
            values = {"id": new_id("up"), "slug": ref.owner, "type": UPSTREAM}
            connection.execute(insert(owners).values(**values, created_at=hub.now()))
        if find_visible(connection, caller, ref) is None:
            create_environment(hub, connection, ref, PUBLIC)
            record(hub, connection, caller, "environment.mirror", ref.slug)
        return find_environment(connection, caller, ref)


def _put_in_order(hub: Hub, ref: EnvRef, newest_first: list[VersionItem]) -> None:
    """Number the versions here in the same order as there."""
    rank = {item.sha256: -number for number, item in enumerate(newest_first)}
    with hub.database.write() as connection:
        environment = find_visible(connection, mirror_caller(ref.owner), ref)
        if environment is None:
            return
        here = _numbered(connection, environment.id)
        # Versions deleted upstream stay, as the oldest.
        wanted = sorted(here, key=lambda row: (rank.get(row.content_hash, -len(rank)), row.number))
        if [row.id for row in wanted] == [row.id for row in here]:
            return
        for number, row in enumerate(wanted, start=here[-1].number + 1):
            connection.execute(
                update(versions).where(versions.c.id == row.id).values(number=number)
            )
        update_latest(hub, connection, environment.id)


def _numbered(connection: Connection, environment_id: str) -> list[Row[Any]]:
    query = select(versions.c.id, versions.c.number, versions.c.content_hash)
    mine = versions.c.environment_id == environment_id
    return list(connection.execute(query.where(mine).order_by(versions.c.number)))
