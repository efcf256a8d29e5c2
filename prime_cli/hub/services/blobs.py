"""Blobs that nothing names any more, and holds that keep them for a while."""

import logging
import time
from collections.abc import Collection

from sqlalchemy import Connection, delete, exists, select, text

from prime_cli.core.errors import StorageFailed, Unreachable
from prime_cli.hub.context import Hub
from prime_cli.hub.db.tables import artifacts, counters

# --- Holds ---

_NAME = "blobs held until"
_HOLD_SECONDS = 3600

_EXTEND = text(
    "INSERT INTO counters (name, value) VALUES (:name, :until) "
    "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)


def hold_blobs(hub: Hub) -> None:
    """No blob is deleted for an hour from now, by any process; what is left over is garbage then.

    A killed backup can keep garbage for that long, and nothing more.
    """
    until = int(time.time()) + _HOLD_SECONDS
    with hub.database.write() as connection:
        connection.execute(_EXTEND, {"name": _NAME, "until": until})


def release_blobs(hub: Hub) -> None:
    """Blobs may be deleted again."""
    with hub.database.write() as connection:
        connection.execute(delete(counters).where(counters.c.name == _NAME))


def blobs_are_held(connection: Connection) -> bool:
    """Whether blobs must stay; asked in the transaction that would delete some."""
    held = select(counters.c.value).where(counters.c.name == _NAME)
    return int(connection.execute(held).scalar() or 0) > time.time()


# --- Deletion ---

_log = logging.getLogger(__name__)


def forget_blobs(hub: Hub, digests: Collection[str]) -> None:
    """Delete the blobs that no artefact names, in a transaction of its own.

    Called after the rows are gone for good, so a killed process leaves a blob too many, never one
    too few; `prime hub gc` finds it, as it finds those that a backup held. Nobody can begin to
    upload the same bytes meanwhile: that writes a row first. A storage that fails is no failure of
    the caller's, whose work is done; it is logged, and the rest is left to the same command.
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
