"""Garbage: unreferenced blobs, abandoned uploads and logins."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice

from sqlalchemy import Connection, delete, select

from prime_cli.core.errors import Conflict
from prime_cli.core.progress import Progress
from prime_cli.hub.context import Hub, timestamp
from prime_cli.hub.db.tables import artifacts, attempts, browser_sessions, challenges
from prime_cli.hub.services.artifacts import blobs_are_held, drop_abandoned

_GRACE = timedelta(hours=1)
_BATCH = 20


@dataclass(frozen=True)
class Garbage:
    """What was found, or deleted: blobs with their size in bytes, and rows of tables."""

    blobs: int = 0
    bytes: int = 0
    artifacts: int = 0
    challenges: int = 0


def find_garbage(hub: Hub, progress: Progress) -> Garbage:
    """Count the blobs that `collect_garbage` would delete; rows are ignored."""
    blobs = size = 0
    for digests in _old_blobs(hub, progress):
        with hub.database.read() as connection:
            for digest in _unnamed(connection, digests):
                blobs, size = blobs + 1, size + (hub.storage.size(digest) or 0)
    return Garbage(blobs=blobs, bytes=size)


def collect_garbage(hub: Hub, progress: Progress) -> Garbage:
    """Delete it. Safe while the hub serves; blobs of the last hour are left alone.

    Raises Conflict while a backup holds the blobs.
    """
    with hub.database.write() as connection:
        dropped = len(drop_abandoned(hub, connection))
        now = hub.now()
        connection.execute(delete(attempts).where(attempts.c.until < now))
        sessions = delete(browser_sessions).where(browser_sessions.c.expires_at < now)
        connection.execute(sessions)
        ended = connection.execute(delete(challenges).where(challenges.c.expires_at < now)).rowcount
    blobs = size = 0
    for digests in _old_blobs(hub, progress):
        with hub.database.write() as connection:
            _require_no_hold(connection)
            for digest in _unnamed(connection, digests):
                blobs, size = blobs + 1, size + (hub.storage.size(digest) or 0)
                hub.storage.delete(digest)
    return Garbage(blobs=blobs, bytes=size, artifacts=dropped, challenges=ended)


def _old_blobs(hub: Hub, progress: Progress) -> Iterator[tuple[str, ...]]:
    oldest = timestamp(hub.settings.clock() - _GRACE)
    with progress.task("Looking through the blobs", unit="files") as task:
        old = (blob.digest for blob in hub.storage.list() if timestamp(blob.modified) < oldest)
        while batch := tuple(islice(old, _BATCH)):
            yield batch
            task.advance(len(batch))


def _unnamed(connection: Connection, digests: tuple[str, ...]) -> list[str]:
    named = select(artifacts.c.sha256).where(artifacts.c.sha256.in_(digests))
    known = set(connection.execute(named).scalars())
    return [digest for digest in digests if digest not in known]


def _require_no_hold(connection: Connection) -> None:
    if blobs_are_held(connection):
        raise Conflict(
            "A backup of this hub is in progress; blobs cannot be deleted until it ends",
            hint="run `prime hub gc` again when it is done",
        )
