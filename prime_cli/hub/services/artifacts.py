"""Wheels and source archives: declared, received, checked; and the deletion of unused blobs."""

import logging
import time
from collections.abc import Collection
from typing import Any, Literal

from sqlalchemy import (
    Connection,
    Row,
    delete,
    exists,
    func,
    insert,
    select,
    text,
    union_all,
    update,
)

from prime_cli.core.errors import NotFound, StorageFailed, Unreachable
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import artifacts, counters, environments, owners, uploads, versions
from prime_cli.hub.services.access import visible_to
from prime_cli.hub.services.keys import require_alive
from prime_cli.hub.tokens import new_id, new_token, token_digest
from prime_cli.hub.urls import upload_url
from prime_cli.wire.codec import encode
from prime_cli.wire.environments import ArtifactRequest

# --- Blobs ---

# --- Holds ---

_NAME = "blobs held until"
_HOLD_SECONDS = 3600

_EXTEND = text(
    "INSERT INTO counters (name, value) VALUES (:name, :until) "
    "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)


def hold_blobs(hub: Hub) -> None:
    """Prevent all processes from deleting blobs for an hour; leftovers are garbage after that.

    A killed backup can keep garbage for that long, but no longer.
    """
    until = int(time.time()) + _HOLD_SECONDS
    with hub.database.write() as connection:
        connection.execute(_EXTEND, {"name": _NAME, "until": until})


def release_blobs(hub: Hub) -> None:
    """Allow the deletion of blobs again."""
    with hub.database.write() as connection:
        connection.execute(delete(counters).where(counters.c.name == _NAME))


def blobs_are_held(connection: Connection) -> bool:
    """Whether blobs must stay; checked in the transaction that would delete some."""
    held = select(counters.c.value).where(counters.c.name == _NAME)
    return int(connection.execute(held).scalar() or 0) > time.time()


# --- Deletion ---

_log = logging.getLogger(__name__)


def forget_blobs(hub: Hub, digests: Collection[str]) -> None:
    """Delete the blobs that no artefact names, in a separate transaction.

    Called after the rows are gone for good, so a killed process leaves a blob too many, never one
    too few; `prime hub gc` finds it, as it finds those that a backup held. Nobody can begin to
    upload the same bytes meanwhile: that writes a row first. A storage failure is not the caller's,
    whose work is done; it is logged, and the rest is left to the same command.
    """
    if not digests:
        return
    with hub.database.write() as connection:
        if blobs_are_held(connection):
            return
        for digest in digests:
            named = select(exists().where(artifacts.c.sha256 == digest))
            if not connection.execute(named).scalar_one() and not _is_deleted(hub, digest):
                return


def _is_deleted(hub: Hub, digest: str) -> bool:
    try:
        hub.storage.delete(digest)
    except (StorageFailed, Unreachable) as error:
        _log.warning("Blobs that nobody needs are left for `prime hub gc`: %s", error)
        return False
    return True


# --- Artifacts ---

Kind = Literal["wheel", "sources"]
WHEEL: Kind = "wheel"
SOURCES: Kind = "sources"

_PREFIX: dict[Kind, str] = {WHEEL: "whl", SOURCES: "ver"}
_ABANDONED_SECONDS = 2 * 24 * 3600


def declare_artifact(
    hub: Hub, connection: Connection, environment: Row[Any], kind: Kind, request: ArtifactRequest
) -> Row[Any]:
    """The row of an artefact; an earlier unpublished declaration is resumed."""
    fields = {
        "metadata": encode(request.metadata).decode(),
        "runtime_hint": request.runtime_hint,
        "declared_size": request.size,
        "created_at": hub.now(),
    }
    key = {
        "environment_id": environment.id,
        "kind": kind,
        "content_hash": request.content_hash,
        "semantic_version": request.semantic_version,
        "filename": request.filename,
        "sha256": request.sha256,
    }
    known = connection.execute(
        update(artifacts)
        .where(*(artifacts.c[name] == value for name, value in key.items()))
        .values(fields)
        .returning(artifacts)
    ).first()
    if known is not None:
        return known
    return connection.execute(
        insert(artifacts).values(id=new_id(_PREFIX[kind]), **key, **fields).returning(artifacts)
    ).one()


def issue_upload(hub: Hub, connection: Connection, caller: Caller, artifact_id: str) -> str:
    """A fresh, temporary URL for uploading one artefact, which ends with the caller's key.

    Raises NotLoggedIn if that has just ended.
    """
    require_alive(hub, connection, caller)
    token = new_token()
    connection.execute(
        insert(uploads).values(
            token_sha256=token_digest(token),
            artifact_id=artifact_id,
            expires_at=hub.after(hub.settings.upload_seconds),
            key_id=caller.key_id,
        )
    )
    return upload_url(hub.settings.public_url, token)


def find_artifact(
    connection: Connection, environment: Row[Any], kind: Kind, artifact_id: str
) -> Row[Any]:
    """An artefact of that environment by its id; raises NotFound."""
    row = connection.execute(
        select(artifacts).where(
            artifacts.c.id == artifact_id,
            artifacts.c.environment_id == environment.id,
            artifacts.c.kind == kind,
        )
    ).one_or_none()
    if row is None:
        what = "Wheel" if kind == WHEEL else "Version"
        raise NotFound(f"{what} `{artifact_id}` not found")
    return row


def size_of_known(hub: Hub, connection: Connection, caller: Caller, sha256: str) -> int | None:
    """The size in bytes of the hub's blob with that digest, or None if it has none.

    Only what the caller may download counts: knowing the digest of somebody's private wheel does
    not prove having it.
    """
    known = (
        exists()
        .where(
            artifacts.c.sha256 == sha256,
            artifacts.c.received_at.is_not(None),
            artifacts.c.environment_id == environments.c.id,
            environments.c.owner_id == owners.c.id,
            visible_to(caller),
        )
        .select()
    )
    if not connection.execute(known).scalar_one():
        return None
    # None if the blob was lost outside of the hub; the upload restores it.
    return hub.storage.size(sha256)


def size_of_artifacts(connection: Connection, *artifact_ids: str) -> int:
    """The bytes of received artefacts."""
    total = select(func.sum(artifacts.c.size)).where(artifacts.c.id.in_(artifact_ids))
    return int(connection.execute(total).scalar() or 0)


def mark_received(hub: Hub, connection: Connection, artifact_id: str, size: int) -> bool:
    """Record that the bytes are complete; False if the artefact is gone."""
    marked = connection.execute(
        update(artifacts)
        .where(artifacts.c.id == artifact_id)
        .values(size=size, received_at=hub.now())
    )
    return marked.rowcount > 0


def mark_checked(hub: Hub, connection: Connection, artifact_id: str, kinds: str) -> bool:
    """Record that the bytes passed the checks, and the kinds; False if the artefact is gone."""
    marked = connection.execute(
        update(artifacts)
        .where(artifacts.c.id == artifact_id)
        .values(checked_at=hub.now(), kinds=kinds)
    )
    return marked.rowcount > 0


def mark_published(connection: Connection, environment_id: str) -> None:
    """Record which artefacts of an environment its versions use; only these outlive a few days."""
    parts = union_all(
        *(
            select(column).where(versions.c.environment_id == environment_id)
            for column in (versions.c.id, versions.c.wheel_id)
        )
    )
    connection.execute(
        update(artifacts)
        .where(
            artifacts.c.environment_id == environment_id,
            ~artifacts.c.published,
            artifacts.c.id.in_(parts),
        )
        .values(published=True)
    )


def drop_artifact(hub: Hub, artifact: Row[Any]) -> None:
    """Delete a refused artefact and its bytes."""
    with hub.database.write() as connection:
        connection.execute(delete(artifacts).where(artifacts.c.id == artifact.id))
    forget_blobs(hub, [artifact.sha256])


def drop_abandoned(hub: Hub, connection: Connection) -> set[str]:
    """Delete expired uploads and artefacts that were never published; returns their digests."""
    connection.execute(delete(uploads).where(uploads.c.expires_at < hub.now()))
    rows = connection.execute(
        delete(artifacts)
        # Word for word as in the index: SQLite recognises no other condition.
        .where(text("NOT published"), artifacts.c.created_at < hub.after(-_ABANDONED_SECONDS))
        .returning(artifacts.c.sha256)
    )
    return {row.sha256 for row in rows}
