"""Wheels and source archives on their way in: declared, received, checked."""

from typing import Any, Literal

from sqlalchemy import Connection, Row, delete, exists, insert, select, text, union_all, update

from prime_cli.core.errors import NotFound
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import artifacts, environments, owners, uploads, versions
from prime_cli.hub.services.access import visible_to
from prime_cli.hub.services.blobs import forget_blobs
from prime_cli.hub.services.keys import require_alive
from prime_cli.hub.tokens import new_id, new_token, token_digest
from prime_cli.hub.urls import upload_url
from prime_cli.wire.codec import encode
from prime_cli.wire.environments import ArtifactRequest

Kind = Literal["wheel", "sources"]
WHEEL: Kind = "wheel"
SOURCES: Kind = "sources"

_PREFIX: dict[Kind, str] = {WHEEL: "whl", SOURCES: "ver"}
_ABANDONED_SECONDS = 2 * 24 * 3600


def declare_artifact(
    hub: Hub, connection: Connection, environment: Row[Any], kind: Kind, request: ArtifactRequest
) -> Row[Any]:
    """The row of an artefact; one that was declared before and not published is gone on with."""
    said = {
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
        .values(said)
        .returning(artifacts)
    ).first()
    if known is not None:
        return known
    return connection.execute(
        insert(artifacts).values(id=new_id(_PREFIX[kind]), **key, **said).returning(artifacts)
    ).one()


def issue_upload(hub: Hub, connection: Connection, caller: Caller, artifact_id: str) -> str:
    """A fresh URL that takes the bytes of one artefact for a while, and ends with the caller's key.

    Raises NotLoggedIn when that has just ended.
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
    """How many bytes the hub has under that digest, or None when it has not.

    Only what the caller may download counts: knowing the digest of somebody's private wheel is
    no proof of having it.
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
    # None when the blob was lost outside of the hub; the upload brings it back.
    return hub.storage.size(sha256)


def mark_received(hub: Hub, connection: Connection, artifact_id: str, size: int) -> bool:
    """Note that the bytes have come whole; False when the artefact is not there any more."""
    marked = connection.execute(
        update(artifacts)
        .where(artifacts.c.id == artifact_id)
        .values(size=size, received_at=hub.now())
    )
    return marked.rowcount > 0


def mark_checked(hub: Hub, connection: Connection, artifact_id: str) -> bool:
    """Note that the bytes have passed; False when the artefact is not there any more."""
    marked = connection.execute(
        update(artifacts).where(artifacts.c.id == artifact_id).values(checked_at=hub.now())
    )
    return marked.rowcount > 0


def mark_published(connection: Connection, environment_id: str) -> None:
    """Note which artefacts of an environment its versions have; only these outlive a few days."""
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
    """Forget an artefact that was refused, and its bytes."""
    with hub.database.write() as connection:
        connection.execute(delete(artifacts).where(artifacts.c.id == artifact.id))
    forget_blobs(hub, [artifact.sha256])


def drop_abandoned(hub: Hub, connection: Connection) -> set[str]:
    """Forget uploads that expired and artefacts that were never published; gives their digests."""
    connection.execute(delete(uploads).where(uploads.c.expires_at < hub.now()))
    rows = connection.execute(
        delete(artifacts)
        # As in the index, word for word: SQLite takes it for no other condition.
        .where(text("NOT published"), artifacts.c.created_at < hub.after(-_ABANDONED_SECONDS))
        .returning(artifacts.c.sha256)
    )
    return {row.sha256 for row in rows}
