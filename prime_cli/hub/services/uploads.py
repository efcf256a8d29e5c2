"""Upload bodies: received in pieces, verified, then stored.

An upload's address is good until they are kept, until it expires, or until the key ends that it was
given to. A client that was not told so
declares the artefact again: it is given a new address, or none when nothing is to be sent.
"""

import contextlib
import hashlib
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, delete, select

from prime_cli.core.errors import NotFound, NotLoggedIn
from prime_cli.core.paths import make_folder, storage_errors
from prime_cli.hub import validation
from prime_cli.hub.context import Hub
from prime_cli.hub.db.tables import artifacts, keys, uploads
from prime_cli.hub.services.artifacts import WHEEL, forget_blobs, mark_received
from prime_cli.hub.services.keys import is_alive
from prime_cli.hub.tokens import token_digest

_LEFTOVER_SECONDS = 2 * 24 * 3600


class IncomingFile:
    """The bytes of `artifact` on their way in, in a temporary file that is gone when that fails.

    No more than `allowed` bytes are taken.
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
        """The digest of what has come so far."""
        return self._digest.hexdigest()

    def write(self, chunk: bytes) -> None:
        """Take the next piece; raises IntegrityError above the limit, StorageFailed."""
        self.size += len(chunk)
        validation.check_size(self.size, self._allowed)
        self._digest.update(chunk)
        with storage_errors(self.path):
            self._file.write(chunk)

    def end(self) -> None:
        """All pieces have come."""
        with storage_errors(self.path):
            self._file.close()

    def discard(self) -> None:
        """Remove what was written, if it is still there; what went wrong has been said by then."""
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)


def begin_upload(hub: Hub, token: str) -> IncomingFile:
    """Open a file for the holder of `token`; raises NotFound for one that is used or expired."""
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
    """Keep the bytes if they are those that were declared; raises IntegrityError if not.

    The address is used up in the transaction that says so. It may have expired while the bytes
    came: that it was good when they began to is enough. The key that it was given to must not have
    ended, or NotLoggedIn is raised.
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
    """Whether the key that an address was given to is one; without accounts there is none."""
    if key_id is None:
        return True
    alive = select(keys.c.id).where(keys.c.id == key_id, is_alive(hub))
    return connection.execute(alive).one_or_none() is not None


def _remove_leftovers(folder: Path) -> None:
    """Delete what killed processes left long ago; another process may be faster."""
    oldest = time.time() - _LEFTOVER_SECONDS
    for path in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_mtime < oldest:
                path.unlink()
