"""Blobs that nothing names any more."""

import logging
from collections.abc import Collection

from sqlalchemy import exists, select

from prime_cli.core.errors import StorageFailed, Unreachable
from prime_cli.hub.context import Hub
from prime_cli.hub.db.tables import artifacts
from prime_cli.hub.services.holds import blobs_are_held

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
